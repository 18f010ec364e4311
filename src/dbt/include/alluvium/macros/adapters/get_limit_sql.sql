{#- What `dbt show` sends: at most `limit` rows of a query; all of what DESCRIBE, SHOW and EXPLAIN say. -#}
{% macro alluvium__get_limit_sql(sql, limit) %}
  {{- adapter.limited(sql, limit) -}}
{% endmacro %}
