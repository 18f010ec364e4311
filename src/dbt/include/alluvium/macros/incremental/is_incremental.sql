{#- dbt's own, but false until a merged table had its first merge. It is made empty and merged into. Where that merge
    failed or was killed, `where at > (select max(at) from {{ this }})` would never find anything new. -#}
{% macro is_incremental() %}
  {%- if not execute or model.config.materialized != 'incremental' or should_full_refresh() -%}{{ return(false) }}{%- endif -%}
  {%- set relation = load_relation(this) -%}
  {%- if relation is none or relation.type != 'table' -%}{{ return(false) }}{%- endif -%}
  {{ return('alluvium_merge' not in (model.config.meta or {}) or adapter.has_begun(relation.render())) }}
{% endmacro %}
