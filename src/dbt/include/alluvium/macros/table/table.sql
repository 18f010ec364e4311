{#- dbt-spark's table materialization, and beside it the table that stays. A Python model is only accepted from a
    materialization's own `statement`, so nothing is delegated. -#}
{% materialization table, adapter='alluvium', supported_languages=['sql', 'python'] -%}
  {%- set language = model['language'] -%}
  {%- set old_relation = load_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}

  {{ run_hooks(pre_hooks) }}

  {%- set kept = adapter.kept_as_built(old_relation) -%}
  {%- if kept is not none -%}
    {%- do store_result('main', response=kept) -%}
  {%- else -%}
    {%- set file_format = config.get('file_format', validator=validation.any[basestring]) -%}
    {%- set replaced = old_relation is not none and (
        (old_relation.is_delta and file_format == 'delta') or (old_relation.is_iceberg and file_format == 'iceberg')) -%}
    {%- if not replaced -%}
      {%- do adapter.drop_relation(target_relation if old_relation is none else old_relation) -%}
    {%- endif -%}
    {%- call statement('main', language=language) -%}
      {{ create_table_as(False, target_relation, compiled_code, language) }}
    {%- endcall -%}

    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(old_relation, full_refresh_mode=True)) -%}
    {%- do persist_docs(target_relation, model) -%}
    {%- do persist_constraints(target_relation, model) -%}
    {%- do adapter.note_built(load_result('main').response) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{%- endmaterialization %}
