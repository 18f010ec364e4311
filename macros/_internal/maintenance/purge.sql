{#- Deletes rows that must not come back. Others may write the table too: an alluvium target tries again where they were faster. -#}
{% macro _purge(table, where) %}
  {%- set sql = 'delete from ' ~ table ~ ' where ' ~ where -%}
  {%- if target.type == 'alluvium' -%}{%- do adapter.run_with_retries(table, sql, 'delete', is_purge=true) -%}
  {%- else -%}{%- do run_query(sql) -%}{%- endif -%}
{% endmacro %}
