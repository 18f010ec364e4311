{#- Whether a maintenance hook does anything: not at parse, not under --empty, not where
    the var `alluvium_maintenance` is false. -#}
{% macro _maintenance_is_on() %}
  {{ return(execute and not flags.EMPTY and var('alluvium_maintenance', true)) }}
{% endmacro %}


{#- Whether the files may have changed. A merge that changed nothing says so. Then a rewrite of the table, or a vacuum,
    would be a commit, and its cost, for nothing. -#}
{% macro _files_may_have_changed() %}
  {%- if not alluvium._maintenance_is_on() -%}{{ return(false) }}{%- endif -%}
  {%- if 'alluvium_merge' not in (config.get('meta') or {}) -%}{{ return(true) }}{%- endif -%}
  {%- if target.type == 'alluvium' -%}
    {%- set ran = load_result('main') -%}
    {{ return(ran is none or ran.response.rows_affected != 0) }}
  {%- endif -%}
  {#- Elsewhere `_execute_merge` notes the rows; dbt hands a note out once, so it is put back. -#}
  {%- set merged = load_result('alluvium_merged') -%}
  {%- if merged is none -%}{{ return(false) }}{%- endif -%}
  {%- do store_result('alluvium_merged', response=merged.response) -%}
  {{ return(merged.response | int != 0) }}
{% endmacro %}
