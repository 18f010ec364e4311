{#- Spark alone cannot merge files in order. SQL can run OPTIMIZE for a layout, in the buckets that need it: those with
    `fan_in` small files, and of quiet ones those with two. A small file has less than half of `target_bytes`; larger
    ones are left alone. -#}
{% macro _compact_in_sql(relation, name, block, dry_run, is_hook) %}
  {%- set layout = alluvium._layout_settings(block) -%}
  {%- set bucket = alluvium._bucket_column(relation, layout) if layout.column else none -%}
  {%- set found = run_query(alluvium._buckets_in_need(relation, layout, bucket)).rows -%}
  {%- set where = alluvium._in_buckets(bucket, found | map(attribute='bucket') | list) if bucket else none -%}
  {%- if not found or (bucket and where is none) -%}
    {%- if not is_hook -%}{%- do log(name ~ ': nothing to compact', info=true) -%}{%- endif -%}
    {{ return(none) }}
  {%- endif -%}
  {%- set sql = 'optimize ' ~ relation.render() ~ (' where ' ~ where if where else '') -%}
  {%- set small = alluvium._thousands(found | map(attribute='small') | map('int') | sum) ~ ' small files'
      ~ (' in ' ~ alluvium._counted(found | length, 'bucket') if bucket else '') -%}
  {%- if dry_run -%}
    {%- do log(name ~ ': would run `' ~ sql ~ '` for ' ~ small ~ '; only an alluvium target compacts in the order of the layout', info=true) -%}
    {{ return(none) }}
  {%- endif -%}
  {%- set started = modules.datetime.datetime.now() -%}
  {%- do alluvium._optimize_small_files(sql, layout.target_bytes) -%}
  {%- set seconds = (modules.datetime.datetime.now() - started).total_seconds() -%}
  {%- do log(name ~ ': optimized ' ~ small ~ ' in %.1f s' | format(seconds), info=true) -%}
  {{ return(none) }}
{% endmacro %}


{% macro _buckets_in_need(relation, layout, bucket) -%}
{%- set quiet = 'false' -%}
{%- if layout.quiet_after -%}
  {%- set since = 'current_timestamp() - interval ' ~ layout.quiet_after -%}
  {%- set quiet = 'max(`written`) < ' ~ since -%}
  {%- if layout.window -%}
    {%- set quiet = quiet ~ '\n        and (`begins` is null or `begins` < ' ~ since ~ ' - interval 1 ' ~ layout.window ~ ')' -%}
  {%- endif -%}
{%- endif -%}
select
    `bucket`,
    count_if(`bytes` < {{ layout.target_bytes // 2 }}) as `small`
from {{ alluvium._bucket_files(relation, bucket) }}
group by `bucket`, `begins`
having
    `small` >= {{ layout.fan_in }}
    or (
        `small` >= 2
        and {{ quiet }}
    )
order by `begins`, `bucket`
{%- endmacro %}


{#- Runs an OPTIMIZE that leaves files of half of `target_bytes` and more alone.

    Spark takes the sizes from the session alone. Should the statement fail, dbt ends the node, and with it the Thrift session
    that they were set in. Databricks tunes them itself, or takes them from the table property delta.targetFileSize; SQL warehouses
    refuse the SET. -#}
{% macro _optimize_small_files(sql, target_bytes) %}
  {%- if target.type == 'databricks' -%}{{ return(run_query(sql)) }}{%- endif -%}
  {%- set prefix = 'spark.databricks.delta.optimize.' -%}
  {%- set before = {} -%}
  {%- for key, value in {'minFileSize': target_bytes // 2, 'maxFileSize': target_bytes}.items() -%}
    {%- do before.update({key: run_query('set ' ~ prefix ~ key).rows[0]['value']}) -%}
    {%- do run_query('set ' ~ prefix ~ key ~ '=' ~ value) -%}
  {%- endfor -%}
  {%- do run_query(sql) -%}
  {%- for key, value in before.items() -%}
    {%- do run_query('reset ' ~ prefix ~ key if value == '<undefined>' else 'set ' ~ prefix ~ key ~ '=' ~ value) -%}
  {%- endfor -%}
{% endmacro %}
