{#- dbt run-operation alluvium.purge_tombstones --args '{model: flights, older_than: 30 days, dry_run: false}'

    Deletes the tombstones of a merged model that are older than `older_than`, by its `tombstone_time`. An
    update older than a purged delete brings the row back: keep them longer than events can be late. -#}
{% macro purge_tombstones(model=none, older_than='30 days', dry_run=true) %}
  {%- set node = alluvium._model_of('purge_tombstones', {'model': model, 'older_than': older_than, 'dry_run': dry_run}, kwargs) -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- set settings = alluvium._merge_settings(node) -%}
  {%- if settings is none or not settings.soft -%}
    {%- do exceptions.raise_compiler_error("alluvium.purge_tombstones: '" ~ model
        ~ "' is not a model that keeps tombstones; accepted: one with delete_when and delete: soft in meta.alluvium_merge" ~ alluvium._whose_rows(node) ~ '.') -%}
  {%- endif -%}
  {%- set relation = alluvium._built_relation(node, model) -%}
  {%- if relation is none -%}{{ return('') }}{%- endif -%}
  {%- set types = alluvium._column_types(relation) -%}
  {%- if '_deleted' not in types -%}
    {%- do log(model ~ ': there are no tombstones; no merge has added the column _deleted yet', info=true) -%}
    {{ return('') }}
  {%- endif -%}
  {%- set table = relation.render() -%}
  {%- set moment = alluvium._tombstone_moment(settings, types) -%}
  {%- set time = 'meta.alluvium_merge.tombstone_time, SQL over its columns that gives a timestamp or a date' -%}
  {%- if moment is none -%}
    {%- set found = run_query('select count_if(`_deleted`) as `all` from ' ~ table).rows[0]['all'] | int -%}
    {%- do exceptions.raise_compiler_error('alluvium.purge_tombstones: ' ~ model ~ ' does not say when a tombstone was made, so '
        ~ alluvium._counted(found, 'tombstone') ~ ' cannot be dated; accepted: ' ~ time ~ '; or `alter table ' ~ table
        ~ ' add columns (_tombstone_time timestamp)`, after which merges note the time of those that they make.') -%}
  {%- endif -%}
  {%- set type = run_query('select typeof((' ~ moment ~ ')) as `type` from (select * from ' ~ table ~ ' limit 0) right join (select 1) on true').rows[0]['type'] -%}
  {%- if type not in ('timestamp', 'timestamp_ntz', 'date') -%}
    {%- do exceptions.raise_compiler_error('alluvium.purge_tombstones: ' ~ model ~ ' does not say when a tombstone was made: ' ~ moment ~ ' is ' ~ type
        ~ '; accepted: ' ~ time ~ '.') -%}
  {%- endif -%}
  {%- set old = '`_deleted` and (' ~ moment ~ ') < current_timestamp() - interval ' ~ older_than -%}
  {%- set deleted = 0 if dry_run else alluvium._purge(table, old) -%}
  {#- Behind the DELETE, whose commit alone says what it deleted: others may write meanwhile. -#}
  {%- set found = run_query('select count_if(`_deleted`) as `all`, count_if(' ~ old ~ ') as `old`, count_if(`_deleted` and ('
      ~ moment ~ ') is null) as `undated` from ' ~ table).rows[0] -%}
  {%- set said = alluvium._thousands(found['old'] | int if dry_run else deleted) ~ ' of ' ~ alluvium._counted(found['all'] | int + deleted, 'tombstone') ~ ' older than ' ~ older_than
      ~ (', ' ~ alluvium._thousands(found['undated'] | int) ~ ' cannot be dated: ' ~ ('they are older than the column _tombstone_time'
          if moment == '`_tombstone_time`' else 'their tombstone_time is NULL') if found['undated'] | int else '') -%}
  {%- do log(model ~ (': would delete ' ~ said ~ ' (dry run; dry_run: false deletes them)' if dry_run else ': deleted ' ~ said), info=true) -%}
{% endmacro %}
