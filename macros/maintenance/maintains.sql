{#- Whether a maintenance hook does anything: not at parse, not under --empty, not where
    the var `alluvium_maintenance` is false. -#}
{% macro maintains() %}
  {{ return(execute and not flags.EMPTY and var('alluvium_maintenance', true)) }}
{% endmacro %}
