{#- Whether a maintenance hook does anything: not at parse, not under --empty, not where
    the var `alluvium_maintenance` is false. -#}
{% macro maintains() %}
  {{ return(execute and not flags.EMPTY and var('alluvium_maintenance', true)) }}
{% endmacro %}


{#- Whether the layout may have changed: a merge that changed nothing says so, and then a rewrite
    of the table would be a commit, and its cost, for nothing. -#}
{% macro rewrites() %}
  {%- if not alluvium.maintains() -%}{{ return(false) }}{%- endif -%}
  {%- set ran = load_result('main') if 'alluvium_merge' in (config.get('meta') or {}) else none -%}
  {{ return(ran is none or ran.response.rows_affected != 0) }}
{% endmacro %}
