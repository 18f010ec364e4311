{#- Our incremental materialization merges `meta.alluvium_merge` itself; whoever else asks for the
    statement of a merge gets what a stock target does. -#}
{% macro alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) -%}
    {{ return(alluvium.merged_select(alluvium.run_merge(target, source, incremental_predicates))) }}
  {%- endif -%}
  {%- set sql = dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- set updates = get_merge_update_columns(
      config.get('merge_update_columns'), config.get('merge_exclude_columns'), adapter.get_columns_in_relation(target)) -%}
  {#- dbt-spark writes a star for no column at all. -#}
  {{ return(sql if updates else modules.re.sub('when matched then update set\\s+[*]', '', sql)) }}
{% endmacro %}
