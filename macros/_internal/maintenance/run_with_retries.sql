{#- Runs a statement that may be repeated on a table that others write too: on an alluvium target it is tried
    again where they were faster. what: its name, for messages. -#}
{% macro run_with_retries(table, sql, what) %}
  {{ return(adapter.dispatch('run_with_retries', 'alluvium')(table, sql, what)) }}
{% endmacro %}

{% macro default__run_with_retries(table, sql, what) %}
  {%- do run_query(sql) -%}
{% endmacro %}

{% macro alluvium__run_with_retries(table, sql, what) %}
  {%- do adapter.run_with_retries(table, sql, what) -%}
{% endmacro %}
