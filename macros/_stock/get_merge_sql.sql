{#- What stock dbt-spark and dbt-databricks ask for the statement of a merge. Without
    `meta.alluvium_merge` it is their own. With it the merge runs here, between the SET and the RESET of its commit's
    metadata. The statement that is left shows what it did.

    The root project's `dispatch` has to name this package before dbt; `validate` tells. dbt looks through a package for
    Spark's macro before it comes to an adapter's own: so this one is asked on every target. -#}
{% macro spark__get_merge_sql(relation, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if target.type == 'alluvium' or alluvium._merge_settings(model) is none -%}
    {{ return(dbt[target.type ~ '__get_merge_sql'](relation, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {{ return(alluvium._run_merge(relation, source, incremental_predicates)) }}
{% endmacro %}
