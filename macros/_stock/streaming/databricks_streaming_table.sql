{#- dbt-databricks has a streaming_table of its own, whose query reads a stream. Here the source of
    such a model becomes one, so that the model is the same on every target. -#}
{% macro databricks__get_create_streaming_table_as_sql(relation, sql) %}
  {{ return(dbt.databricks__get_create_streaming_table_as_sql(relation, alluvium._databricks_stream_sql(sql))) }}
{% endmacro %}


{% macro databricks__get_alter_streaming_table_as_sql(
    relation, configuration_changes, sql, existing_relation, backup_relation, intermediate_relation
) %}
  {{ return(dbt.databricks__get_alter_streaming_table_as_sql(
      relation, configuration_changes, alluvium._databricks_stream_sql(sql), existing_relation, backup_relation,
      intermediate_relation)) }}
{% endmacro %}


{#- The query of a streaming table whose source has `meta.alluvium_stream`; others stay as they are. -#}
{% macro _databricks_stream_sql(sql) %}
  {%- if not alluvium._streams_of(model) -%}{{ return(sql) }}{%- endif -%}
  {%- set feed = alluvium._stream_source(model) -%}
  {%- set events = alluvium._stream_events(alluvium._databricks_stream_lines(feed), feed) -%}
  {{ return(alluvium._databricks_stream_select(
      alluvium._with_stream(sql, source(feed.source_name, feed.name), '(\n' ~ events ~ '\n)'))) }}
{% endmacro %}


{#- A micro-batch has one time, and the next one a later. -#}
{% macro _databricks_stream_select(query) -%}
select
    *,
    unix_millis(current_timestamp()) as `_batch_id`
from (
    {{ query }}
)
{%- endmacro %}


{#- Lines of the files of a stream. Row numbers are not to be had there: each file is read whole. -#}
{% macro _databricks_stream_lines(feed) -%}
select
    cast(if(endswith(`text`, '\r'), substring(`text`, 1, length(`text`) - 1), `text`) as binary) as `line`,
    {{ alluvium._stream_file_name(feed, '`path`') }} as `name`,
    `position`,
    `at`
from (
    select
        posexplode(split(if(endswith(`value`, '\n'), substring(`value`, 1, length(`value`) - 1), `value`), '\n')) as (`position`, `text`),
        {{ alluvium._stream_path('`_metadata`.`file_path`') }} as `path`,
        `_metadata`.`file_modification_time` as `at`
    from stream read_files(
        {{ alluvium._text_literal(feed.path) }},
        format => 'text',
        wholeText => true,
        {%- if feed.glob %}
        pathGlobFilter => {{ alluvium._text_literal(feed.glob) }},
        {%- endif %}
        recursiveFileLookup => true
    )
    where `value` != ''
)
{%- endmacro %}
