{#- VACUUM of a table. On an alluvium target it leaves alone what published models show of it. -#}
{% macro _vacuum_statement(relation) %}
  {%- if target.type == 'alluvium' -%}{{ return(adapter.vacuum_statement(relation)) }}{%- endif -%}
  {{ return('vacuum ' ~ relation.render()) }}
{% endmacro %}
