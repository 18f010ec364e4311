{#- JSON of a row in which values that differ, differ: times have all of their digits, and no session's time zone. -#}
{% macro _row_json(columns) -%}
to_json(struct({{ columns }}), map(
    'timeZone', 'UTC',
    'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
    'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
))
{%- endmacro %}
