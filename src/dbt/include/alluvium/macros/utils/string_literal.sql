{#- A relation is its name: that of a merged model would be written as a subquery. -#}
{% macro alluvium__string_literal(value) -%}
  {{ return(dbt.default__string_literal(value.render() if value is not string and value.render is defined else value)) }}
{%- endmacro %}
