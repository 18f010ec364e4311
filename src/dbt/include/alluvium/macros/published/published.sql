{#- What readers see of another table: the version of it that passed its tests. A build moves it by one commit, and a reader
    never finds less than a whole version. Nothing is selected here, and no row is written. -#}
{% materialization published, adapter='alluvium', supported_languages=['sql'] -%}
  {%- set existing_relation = load_relation(this) -%}

  {{ run_hooks(pre_hooks) }}

  {%- set done = adapter.publish(this, existing_relation, model.unique_id, sql) -%}
  {%- do store_result('main', response=done.response) -%}
  {%- do log(done.line, info=true) -%}

  {%- do apply_grants(this, config.get('grants'), should_revoke(existing_relation, full_refresh_mode=false)) -%}
  {#- What is said of columns, as of the table, is for readers of the version that it was written for. -#}
  {%- if done.is_published -%}
    {%- do persist_docs(this, model) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [this]}) }}
{%- endmaterialization %}
