{#- A column's name as an identifier, whatever it holds. -#}
{% macro quote(name) %}
  {%- set bare = name[1:-1] | replace('``', '`') if name[:1] == '`' and name[-1:] == '`' and name | length > 2 else name -%}
  {{ return('`' ~ bare | replace('`', '``') ~ '`') }}
{% endmacro %}
