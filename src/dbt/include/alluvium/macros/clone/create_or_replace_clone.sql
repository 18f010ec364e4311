{#- A clone forgets what its source had merged, or showed of a candidate, and is told again. So an incremental run on
    the clone goes on where the source stopped, and a publish moves it on. Progress is a commit of its own: killed in
    between, the clone reads its events again. Only `null_keys: insert` then adds a row twice. -#}
{% macro alluvium__create_or_replace_clone(this_relation, defer_relation) %}
  {#- `dbt clone --full-refresh`: Delta replaces no table that has rows by a clone. -#}
  {%- do drop_relation_if_exists(load_cached_relation(this_relation)) -%}
  {%- do adapter.note_clone(defer_relation, this_relation) -%}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) or model.config.materialized == 'published' -%}
    {%- call statement('alluvium_clone') -%}
      {{ dbt.spark__create_or_replace_clone(this_relation, defer_relation) }}
    {%- endcall -%}
    {%- set carried = adapter.copy_progress(defer_relation.render(), this_relation.render()) -%}
    {{ return('select ' ~ carried ~ ' as num_progress_carried') }}
  {%- endif -%}
  {{ return(dbt.spark__create_or_replace_clone(this_relation, defer_relation)) }}
{% endmacro %}
