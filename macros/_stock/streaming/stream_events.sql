{#- The events of the lines that `lines` gives as `line` (binary), with `name`, `position` and `at`. They have the
    system columns of bronze, as an alluvium target makes them (docs/streaming.md). -#}
{% macro _stream_events(lines, feed) -%}
select
    cast(null as string) as `_key`,
    make_valid_utf8(cast(`line` as string)) as `_value`,
    case
        when not is_valid_utf8(cast(`line` as string))
            then array(named_struct('key', '_value', 'value', `line`))
    end as `_headers`,
    `name` as `_source_partition`,
    cast(`position` as bigint) as `_source_offset`,
    `at` as `_source_timestamp`
    {%- if feed.schema %},
    `parsed`.*
    {%- endif %}
from (
    select
        {%- if feed.schema %}
        {{ 'from_json' if feed.format == 'json' else 'from_csv' }}(
            make_valid_utf8(cast(`line` as string)), {{ alluvium._text_literal(feed.schema) }}{{ alluvium._stream_parser_options(feed) }}
        ) as `parsed`,
        {%- endif %}
        *
    from (
        {{ lines | trim | indent(8) }}
    )
)
{%- endmacro %}


{% macro _stream_parser_options(feed) %}
  {%- set pairs = [] -%}
  {%- for key, value in feed.options.items() -%}
    {%- do pairs.append(alluvium._text_literal(key) ~ ', ' ~ alluvium._text_literal(value)) -%}
  {%- endfor -%}
  {{ return(', map(' ~ pairs | join(', ') ~ ')' if pairs else '') }}
{% endmacro %}


{#- The path in a file's URL. -#}
{% macro _stream_path(url) %}
  {{ return("regexp_replace(url_decode(replace(" ~ url ~ ", '+', '%2B')), '^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?', '')") }}
{% endmacro %}


{#- A file's path below the source's folder: it stays the same where the folder moves. -#}
{% macro _stream_file_name(feed, path) %}
  {%- set folder = alluvium._stream_folder(feed.path) ~ '/' -%}
  {{ return("if(startswith(" ~ path ~ ", " ~ alluvium._text_literal(folder) ~ "), substring(" ~ path ~ ", " ~ (folder | length + 1)
      ~ "), element_at(split(" ~ path ~ ", '/'), -1))") }}
{% endmacro %}


{#- The files under the source's path as a table of Spark's, read in a format of files. -#}
{% macro _stream_files(feed, format) %}
  {%- set glob = ", 'pathGlobFilter' = " ~ alluvium._text_literal(feed.glob) if feed.glob else '' -%}
  {{ return(format ~ '.' ~ alluvium._quote(feed.path) ~ " with ('recursiveFileLookup' = 'true'"
      ~ (", 'lineSep' = '\\n'" if format == 'text' else '') ~ glob ~ ')') }}
{% endmacro %}


{#- Lines of some files, without their ends. The session has to give
    a partition to each file: then the row number in the partition is the line in the file. A
    predicate on the path alone keeps other files from being opened. -#}
{% macro _stream_lines(feed, urls) -%}
select
    if(endswith(`value`, '\r'), substring(cast(`value` as binary), 1, octet_length(`value`) - 1), cast(`value` as binary)) as `line`,
    {{ alluvium._stream_file_name(feed, '`path`') }} as `name`,
    `position`,
    `at`
from (
    select
        `value`,
        {{ alluvium._stream_path('`_metadata`.`file_path`') }} as `path`,
        `_metadata`.`file_modification_time` as `at`,
        monotonically_increasing_id() & 8589934591L as `position`
    from {{ alluvium._stream_files(feed, 'text') }}
    where
        {%- for url in urls %}
        {{- ' `_metadata`.`file_path` in (' if loop.first }}
        {{ alluvium._text_literal(url) }}{{ ',' if not loop.last }}
        {{- '\n    )' if loop.last }}
        {%- else %} false
        {%- endfor %}
)
{%- endmacro %}


{#- Paths of the files that the bronze table `known` (none for no table) does not have. Opens none of them. -#}
{% macro _stream_new_files_sql(feed, known) -%}
select `url`
from (
    select
        `url`,
        {{ alluvium._stream_file_name(feed, '`path`') }} as `name`
    from (
        select
            `_metadata`.`file_path` as `url`,
            {{ alluvium._stream_path('`_metadata`.`file_path`') }} as `path`
        from {{ alluvium._stream_files(feed, 'binaryFile') }}
        where `length` > 0
    )
) as `files`
{%- if known is not none %}
where not exists (
    select 1
    from {{ known }} as `known`
    where `known`.`_source_partition` = `files`.`name`
)
{%- endif %}
order by `url`
{%- endmacro %}
