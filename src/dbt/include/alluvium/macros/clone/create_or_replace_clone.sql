{#- A clone forgets what its source had merged, or showed of a candidate, and is told again in its own commit. So an
    incremental run on the clone goes on where the source stopped, and a publish moves it on. -#}
{% macro alluvium__create_or_replace_clone(this_relation, defer_relation) %}
  {#- `dbt clone --full-refresh`: Delta replaces no table that has rows by a clone. -#}
  {%- do drop_relation_if_exists(load_cached_relation(this_relation)) -%}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) or model.config.materialized == 'published' -%}
    {%- do adapter.clone_with_progress(defer_relation, this_relation) -%}
    select 1 as cloned
  {%- else -%}
    {%- do adapter.note_clone(defer_relation, this_relation) -%}
    {{ dbt.spark__create_or_replace_clone(this_relation, defer_relation) }}
  {%- endif -%}
{% endmacro %}
