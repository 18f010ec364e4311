{#- Merges the batch by `meta.alluvium_merge`; before it makes the table, empty, or changes its columns as `on_schema_change` says.

    Python merges, in one call: see docs/architecture.md. -#}
{% macro alluvium_merge_batch(tmp_relation, existing_relation, rebuild, layout, on_schema_change, predicates) %}
  {%- if rebuild or on_schema_change != 'ignore' -%}
    {%- do alluvium._check_settings_of_batch(model, tmp_relation, none if rebuild else existing_relation) -%}
  {%- endif -%}
  {%- if rebuild -%}
    {%- set empty = alluvium._empty_merge_table(model, tmp_relation) -%}
    {%- if layout is not none -%}{%- do adapter.check_layout(alluvium_merged_columns(empty), model.name, layout, config.get('partition_by')) -%}{%- endif -%}
    {%- call statement('create_empty') -%}{{ alluvium_create_table_sql(this, empty) }}{%- endcall -%}
    {%- do persist_constraints(this, model) -%}
  {%- elif on_schema_change != 'ignore' -%}
    {%- do process_schema_changes(on_schema_change, alluvium_schema_view(tmp_relation), existing_relation) -%}
  {%- endif -%}
  {%- set done = adapter.merge(this, tmp_relation, model, predicates, is_new=rebuild, on_schema_change=on_schema_change) -%}
  {{ write(done.sql) }}
  {%- do store_result('main', response=done.response) -%}
  {%- do log(done.line, info=true) -%}
{% endmacro %}


{#- The batch as its table will look: without the control columns, and with `_deleted`. So a schema change neither adds
    the former nor drops the latter. -#}
{% macro alluvium_schema_view(tmp_relation) %}
  {%- set view = tmp_relation.incorporate(path={'identifier': tmp_relation.identifier ~ '_columns'}).include(database=false, schema=false) -%}
  {%- call statement('create_schema_view') -%}
    create or replace temporary view {{ view }} as
    {{ alluvium_merged_columns(alluvium._empty_merge_table(model, tmp_relation)) }}
  {%- endcall -%}
  {{ return(view) }}
{% endmacro %}


{#- A select of the columns of a merged table, with the one that its first merge adds. -#}
{% macro alluvium_merged_columns(empty) %}
  {%- set further = ['cast(null as boolean) as `_deleted`'] if alluvium._merge_settings(model).soft else [] -%}
  {{ return('select ' ~ (['*'] + further) | join(', ') ~ ' from (' ~ empty ~ ')') }}
{% endmacro %}
