{#- Stops an operation whose `dry_run` is neither true nor false: nothing is deleted for a word that was misread. -#}
{% macro check_dry_run(operation, value) %}
  {%- if value is not boolean -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ operation ~ ': dry_run is ' ~ tojson(value, value | string) ~ '; accepted: true, false') -%}
  {%- endif -%}
{% endmacro %}
