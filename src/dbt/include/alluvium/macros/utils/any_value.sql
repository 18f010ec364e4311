{% macro alluvium__any_value(expression) -%}
    any_value({{ expression }})
{%- endmacro %}
