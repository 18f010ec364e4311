{#- Types, and fields inside structs, arrays and maps, follow the model as its columns do. -#}
{% macro alluvium__process_schema_changes(on_schema_change, source_relation, target_relation) %}
  {%- if on_schema_change == 'sync_all_columns' -%}
    {#- What is refused is so before anything is changed. -#}
    {%- set removed = check_for_schema_changes(source_relation, target_relation).target_not_in_source -%}
    {%- if removed -%}{%- do alluvium_check_removed(target_relation, removed) -%}{%- endif -%}
  {%- endif -%}
  {%- if on_schema_change in ('append_new_columns', 'sync_all_columns') -%}
    {%- do adapter.sync_fields(source_relation.render(), target_relation.render(), on_schema_change) -%}
  {%- endif -%}
  {{ return(default__process_schema_changes(on_schema_change, source_relation, target_relation)) }}
{% endmacro %}


{#- dbt would replace the whole type of a column whose fields differ, which Spark refuses: they are the table's by now. -#}
{% macro alluvium__sync_column_schemas(on_schema_change, target_relation, schema_changes_dict) %}
  {%- set types = [] -%}
  {%- for change in schema_changes_dict.new_target_types if modules.re.match('(?i)(struct|array|map)<', change.new_type) is none -%}
    {%- do types.append(change) -%}
  {%- endfor -%}
  {{ return(default__sync_column_schemas(on_schema_change, target_relation, dict(schema_changes_dict, new_target_types=types))) }}
{% endmacro %}
