{#- Whether a maintenance hook does anything: not at parse, not under --empty, not where
    the var `alluvium_maintenance` is false. -#}
{% macro maintains() %}
  {{ return(execute and not flags.EMPTY and var('alluvium_maintenance', true)) }}
{% endmacro %}


{#- Whether the layout may have changed: a merge that changed nothing says so, and then a rewrite
    of the table would be a commit, and its cost, for nothing. -#}
{% macro rewrites() %}
  {%- if not alluvium.maintains() -%}{{ return(false) }}{%- endif -%}
  {%- if 'alluvium_merge' not in (config.get('meta') or {}) -%}{{ return(true) }}{%- endif -%}
  {%- if target.type == 'alluvium' -%}
    {%- set ran = load_result('main') -%}
    {{ return(ran is none or ran.response.rows_affected != 0) }}
  {%- endif -%}
  {#- Elsewhere the merge is a statement of its own, which is not sent for nothing. -#}
  {%- set merged = alluvium.merge_result() -%}
  {{ return(merged is not none and (merged.table.rows[0]['num_affected_rows'] | int if merged.table.rows else 0) != 0) }}
{% endmacro %}
