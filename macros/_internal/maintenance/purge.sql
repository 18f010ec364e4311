{#- Deletes rows that must not come back; returns how many. Others may write the table too: an alluvium target tries again where they were faster. -#}
{% macro _purge(table, where) %}
  {%- set sql = 'delete from ' ~ table ~ ' where ' ~ where -%}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.run_with_retries(table, sql, 'delete', is_purge=true)) }}{%- endif -%}
  {%- set rows = run_query(sql).rows -%}
  {{ return(rows[0][0] | int if rows else 0) }}
{% endmacro %}
