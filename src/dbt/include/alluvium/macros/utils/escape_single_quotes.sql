{#- The text between the quotes of a literal. Spark takes a backslash for an escape too, which dbt-spark
    leaves as it is: a unit test's `C:\new` would hold a line break. -#}
{% macro alluvium__escape_single_quotes(expression) -%}
{{ expression | replace('\\', '\\\\') | replace("'", "\\'") }}
{%- endmacro %}
