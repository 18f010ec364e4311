{#- dbt's own, but false until a merged table had its first merge: it is made empty and merged into, and where that merge failed or
    was killed, `where at > (select max(at) from {{ this }})` would find nothing new for ever. -#}
{% macro is_incremental() %}
  {%- if not execute or model.config.materialized != 'incremental' or should_full_refresh() -%}{{ return(false) }}{%- endif -%}
  {%- set relation = load_relation(this) -%}
  {%- if relation is none or relation.type != 'table' -%}{{ return(false) }}{%- endif -%}
  {{ return('alluvium_merge' not in (model.config.meta or {}) or adapter.has_begun(relation.render())) }}
{% endmacro %}
