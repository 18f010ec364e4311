{#- What stock dbt-spark and dbt-databricks ask for the statement of a merge. Without
    `meta.alluvium_merge` it is their own. With it the merge runs here, between the SET and the RESET of its commit's
    metadata. The statement that is left shows what it did.

    The root project's `dispatch` has to name this package before dbt; `validate` tells. -#}
{% macro spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if alluvium._merge_settings(model) is none -%}
    {{ return(dbt.spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {{ return(alluvium._run_merge(target, source, incremental_predicates)) }}
{% endmacro %}


{% macro databricks__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if alluvium._merge_settings(model) is none -%}
    {{ return(dbt.databricks__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {{ return(alluvium._run_merge(target, source, incremental_predicates)) }}
{% endmacro %}


{#- dbt looks through a package for Spark's macro before it comes to the adapter's own. -#}
{% macro alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {{ return(dbt.alluvium__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
{% endmacro %}
