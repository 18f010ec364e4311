{#- Our incremental materialization merges `meta.alluvium_merge` itself; whoever else asks for the
    statement of a merge gets what a stock target does. -#}
{% macro alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) -%}
    {{ return(alluvium.merged_select(alluvium.run_merge(target, source, incremental_predicates))) }}
  {%- endif -%}
  {%- set columns = adapter.get_columns_in_relation(target) -%}
  {%- set updates = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), columns) -%}
  {%- set sql = dbt.spark__get_merge_sql(
      target, source, adapter.identifiers(unique_key, columns), dest_columns, incremental_predicates) -%}
  {#- dbt-spark writes a star for no column at all. Delta makes a star of names that hold a backtick into SQL it cannot read. -#}
  {%- if not updates -%}
    {%- set sql = modules.re.sub('when matched then update set\\s+[*]', '', sql) -%}
  {%- endif -%}
  {%- set names = columns | map(attribute='quoted') | list -%}
  {{ return(alluvium_insert_listed(sql, names) if '`' in columns | map(attribute='name') | join else sql) }}
{% endmacro %}


{#- A MERGE that inserts these columns, where dbt-spark's says all: names as identifiers. -#}
{% macro alluvium_insert_listed(sql, names) %}
  {%- set values = [] -%}
  {%- for name in names -%}{%- do values.append('DBT_INTERNAL_SOURCE.' ~ name) -%}{%- endfor -%}
  {{ return(sql | replace('then insert *', 'then insert (' ~ names | join(', ') ~ ') values (' ~ values | join(', ') ~ ')')) }}
{% endmacro %}
