{% macro alluvium__split_part(string_text, delimiter_text, part_number) -%}
    split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }})
{%- endmacro %}
