{#- Bronze on stock dbt-spark. Each run appends the files that the table does not have in one commit. So a run that is
    killed has appended all of them or none, and the next one looks again. alluvium and databricks targets have a
    streaming_table of their own, which dbt takes before this one. -#}
{% materialization streaming_table, adapter='spark', supported_languages=['sql'] -%}
  {%- set existing_relation = load_relation(this) -%}
  {%- set full_refresh = should_full_refresh() -%}
  {%- set grant_config = config.get('grants') -%}
  {%- if config.get('file_format') != 'delta' -%}
    {%- do exceptions.raise_compiler_error(this ~ ': file_format is ' ~ config.get('file_format') ~ '; accepted: delta') -%}
  {%- endif -%}
  {%- for id in model.depends_on.nodes if invocation_args_dict.sample and (graph.sources.get(id) or graph.nodes.get(id) or {'config': {}}).config.event_time -%}
    {%- do exceptions.raise_compiler_error(this.identifier ~ ': --sample filters ' ~ id.split('.')[-1] ~ ' by event_time, and the stream would pass'
        ~ ' over the events that it leaves out; accepted: without --sample, or ' ~ id.split('.')[-1] ~ ' without event_time') -%}
  {%- endfor -%}
  {%- set feed = alluvium._stream_source(model) -%}
  {%- set query = alluvium._with_stream(compiled_code, source(feed.source_name, feed.name), alluvium._quote(feed.view)) -%}

  {{ run_hooks(pre_hooks) }}

  {%- if existing_relation is not none and existing_relation.is_view -%}
    {%- do adapter.drop_relation(existing_relation) -%}
    {%- set existing_relation = none -%}
  {%- endif -%}
  {%- set appends = existing_relation is not none and not full_refresh -%}
  {%- if appends -%}{%- do alluvium._check_stream_folder(this, feed) -%}{%- endif -%}
  {%- set urls = [] -%}
  {%- if not flags.EMPTY -%}
    {%- for row in run_query(alluvium._stream_new_files_sql(feed, this if appends else none)).rows -%}
      {%- do urls.append(row[0]) -%}
    {%- endfor -%}
  {%- endif -%}

  {%- if appends and not urls -%}
    {%- do store_result('main', response='OK up to date') -%}
    {%- do log(model.name ~ ': up to date', info=true) -%}
  {%- else -%}
    {%- set batch_id = run_query(alluvium._stream_batch_id_sql(existing_relation)).rows[0][0] | int -%}
    {%- call statement('stream') -%}
      create or replace temporary view {{ alluvium._quote(feed.view) }} as
      {{ alluvium._stream_events(alluvium._stream_lines(feed, urls), feed) }}
    {%- endcall -%}
    {%- for name, value in alluvium._whole_files().items() -%}
      {%- do run_query('set ' ~ name ~ '=' ~ value) -%}
    {%- endfor -%}
    {%- call statement('main') -%}
      {%- if appends -%}
        {{ alluvium._stream_insert(this, query, batch_id) }}
      {%- else -%}
        {{ create_table_as(False, this, alluvium._stream_select(query, batch_id)) }}
      {%- endif -%}
    {%- endcall -%}
    {%- for name in alluvium._whole_files() -%}
      {%- do run_query('reset ' ~ name) -%}
    {%- endfor -%}
    {%- do log(model.name ~ ': ' ~ alluvium._thousands(urls | length) ~ ' files → batch ' ~ batch_id, info=true) -%}
  {%- endif -%}

  {%- if not appends -%}
    {%- do alluvium._note_stream_folder(this, feed) -%}
    {%- do persist_docs(this, model) -%}
    {%- do persist_constraints(this, model) -%}
  {%- endif -%}
  {%- do apply_grants(this, grant_config, should_revoke(existing_relation, full_refresh)) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [this]}) }}
{%- endmaterialization %}


{#- Below another folder each file has another name: all events would come in again. -#}
{% macro _check_stream_folder(table, feed) %}
  {%- set found = dict(run_query('show tblproperties ' ~ table).rows | map('list')).get('alluvium.folder') -%}
  {%- set folder = alluvium._stream_place(feed.path) -%}
  {%- if found is none -%}
    {%- do alluvium._note_stream_folder(table, feed) -%}
  {%- elif found != folder -%}
    {%- do exceptions.raise_compiler_error(table.identifier ~ ': its files were read below ' ~ found ~ ', and `path` begins at ' ~ folder
        ~ ': there they have other names, and would come in again. Nothing was read; accepted: `path` as before; --full-refresh;'
        ~ ' or, where the whole folder was moved, alter table ' ~ table ~ ' set tblproperties ('
        ~ alluvium._text_literal('alluvium.folder') ~ ' = ' ~ alluvium._text_literal(folder) ~ ')') -%}
  {%- endif -%}
{% endmacro %}


{% macro _note_stream_folder(table, feed) %}
  {%- do run_query('alter table ' ~ table ~ ' set tblproperties (' ~ alluvium._text_literal('alluvium.folder') ~ ' = '
      ~ alluvium._text_literal(alluvium._stream_place(feed.path)) ~ ')') -%}
{% endmacro %}


{#- Settings that give each file a partition of its own: larger than any file. -#}
{% macro _whole_files() %}
  {{ return({'spark.sql.files.maxPartitionBytes': '1099511627776', 'spark.sql.files.openCostInBytes': '1099511627776'}) }}
{% endmacro %}


{#- It only rises, also where the table was dropped: the clock, or one more than the table's. -#}
{% macro _stream_batch_id_sql(table) -%}
select {{ 'greatest(coalesce(max(`_batch_id`), 0) + 1, unix_millis(current_timestamp()))' if table is not none else 'unix_millis(current_timestamp())' }}
{%- if table is not none %} from {{ table }}{% endif %}
{%- endmacro %}


{#- Files of lines become a few files of Delta. -#}
{% macro _stream_select(query, batch_id) -%}
select /*+ rebalance */
    *,
    {{ batch_id }}L as `_batch_id`
from (
    {{ query }}
) as `events`
{%- endmacro %}


{#- dbt-spark sends a statement again where it lost the connection: what is there is left out again. -#}
{% macro _stream_insert(table, query, batch_id) -%}
insert into {{ table }} by name
{{ alluvium._stream_select(query, batch_id) }}
where not exists (
    select 1
    from {{ table }} as `known`
    where `known`.`_source_partition` = `events`.`_source_partition`
)
{%- endmacro %}
