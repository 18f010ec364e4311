{#- Whether a text is a number of minutes, hours, days or weeks, which SQL may read as an interval. -#}
{% macro _is_duration(value) %}
  {{ return(modules.re.fullmatch('[1-9][0-9]{0,5} (minute|hour|day|week)s?', value | string) is not none) }}
{% endmacro %}
