{#- An append-only Delta table fed by one source with `meta.alluvium_stream`: each run appends what
    is new there, exactly once, and adds `_batch_id`. A full refresh starts again from the source. -#}
{% materialization streaming_table, adapter='alluvium', supported_languages=['sql'] -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- set full_refresh = should_full_refresh() -%}
  {%- set file_format = config.get('file_format', default='delta') -%}
  {%- set grant_config = config.get('grants') -%}

  {%- if config.get('sql_header') -%}
    {%- do exceptions.raise_compiler_error(model.name ~ ': sql_header: the query of a streaming table runs in sessions of their own,'
        ~ ' which would not have it; accepted: without, and Jinja for its values') -%}
  {%- endif -%}
  {%- if existing_relation is not none -%}
    {%- do adapter.check_delta(existing_relation) -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- if existing_relation is not none and existing_relation.is_view -%}
    {%- do adapter.drop_relation(existing_relation) -%}
    {%- set existing_relation = none -%}
  {%- endif -%}
  {%- if config.get('contract').enforced -%}
    {%- do get_assert_columns_equivalent(alluvium_with_batch_id(compiled_code)) -%}
  {%- endif -%}

  {%- set figures = adapter.append_stream(
      this,
      compiled_code,
      full_refresh=full_refresh,
      accepts_loss=alluvium_accepts_loss(),
      empty=flags.EMPTY,
      file_format=file_format,
      partition_by=config.get('partition_by'),
      location_root=config.get('location_root'),
      tblproperties=config.get('tblproperties'),
      layout=alluvium_layout()) -%}
  {{ write(compiled_code) }}
  {%- do store_result('main', response=adapter.stream_response(figures)) -%}
  {%- do log(figures.line, info=true) -%}
  {%- for warning in figures.warnings -%}
    {%- do exceptions.warn(this.identifier ~ ': ' ~ warning) -%}
  {%- endfor -%}

  {#- A comment is a commit of its own: only where the table is new. -#}
  {%- if existing_relation is none or full_refresh -%}
    {%- do persist_docs(this, model) -%}
    {%- if config.persist_relation_docs() and model.description -%}
      {%- call statement('comment') -%}
        comment on table {{ this }} is {{ adapter.literal(model.description) }}
      {%- endcall -%}
    {%- endif -%}
    {%- do persist_constraints(this, model) -%}
    {%- do alluvium_tell_of_index(post_hooks) -%}
  {%- endif -%}
  {%- do apply_grants(this, grant_config, should_revoke(existing_relation, full_refresh)) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [this]}) }}
{%- endmaterialization %}


{% macro alluvium_with_batch_id(sql) %}
  {{ return('select *, cast(null as bigint) as `_batch_id` from (\n' ~ sql ~ '\n)') }}
{% endmacro %}


{#- Whether the var `alluvium_accept_loss` names this model, or is a list that does. -#}
{% macro alluvium_accepts_loss() %}
  {%- set given = var('alluvium_accept_loss', []) -%}
  {%- set names = [given] if given is string else given if given is sequence and given is not mapping else [] -%}
  {{ return(model.name in names or model.package_name ~ '.' ~ model.name in names or model.unique_id in names) }}
{% endmacro %}
