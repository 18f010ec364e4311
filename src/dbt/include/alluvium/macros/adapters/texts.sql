{#- What a profile of a table holds is text of any kind; dbt-spark puts it between quotes as it is. -#}
{% macro alluvium__tblproperties_clause() -%}
  {%- set properties = config.get('tblproperties') -%}
  {%- if properties is not none %}
    tblproperties (
      {%- for key, value in properties.items() %}
      {{ adapter.literal(key) }} = {{ adapter.literal(value) }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
  {%- endif %}
{%- endmacro %}


{% macro alluvium__location_clause() %}
  {%- set root = config.get('location_root', validator=validation.any[basestring]) -%}
  {%- if root is not none %}
    location {{ adapter.literal(root ~ '/' ~ model['alias']) }}
  {%- endif %}
{%- endmacro %}
