{#- Our incremental materialization merges `meta.alluvium_merge` itself; whoever else asks for the
    statement of a merge gets what a stock target does. -#}
{% macro alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) -%}
    {{ return(alluvium.merged_select(alluvium.run_merge(target, source, incremental_predicates))) }}
  {%- endif -%}
  {{ return(dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
{% endmacro %}
