{#- A mapping less the values that are not as its schema says. -#}
{% macro _right_values(where, block, schema) %}
  {%- set right = {} -%}
  {%- for key, value in block.items() if key in schema.properties -%}
    {%- set rule = schema.properties[key] -%}
    {%- if value is mapping and 'properties' in rule -%}
      {%- do right.update({key: alluvium._right_values(where, value, rule)}) -%}
    {%- elif not alluvium._schema_mistakes(where, value, rule) -%}
      {%- do right.update({key: value}) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(right) }}
{% endmacro %}
