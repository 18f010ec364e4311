{#- Runs a statement that may be repeated on a table that others write too. On an alluvium target it is tried again
    where they were faster. what: its name, for messages. is_purge: whether what it deletes must not come back. -#}
{% macro run_with_retries(table, sql, what, is_purge=false) %}
  {{ return(adapter.dispatch('run_with_retries', 'alluvium')(table, sql, what, is_purge)) }}
{% endmacro %}

{% macro default__run_with_retries(table, sql, what, is_purge=false) %}
  {%- do run_query(sql) -%}
{% endmacro %}

{% macro alluvium__run_with_retries(table, sql, what, is_purge=false) %}
  {%- do adapter.run_with_retries(table, sql, what, is_purge) -%}
{% endmacro %}
