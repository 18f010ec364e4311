CREATE STREAMING TABLE `main`.`alluvium`.`flights_events`
  (
      `_value` string COMMENT 'Raw line.',
      `_batch_id` bigint COMMENT 'Number of the ingestion that brought the line; it only rises.'
  )
    COMMENT 'Bronze: every line that ever landed, once, in order of arrival. Append-only; nothing is parsed here, so nothing is refused here.
'
    AS select
    *,
    unix_millis(current_timestamp()) as `_batch_id`
from (
    select * from (
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
from (
    select
        *
    from (
        select
            cast(if(endswith(`text`, '\r'), substring(`text`, 1, length(`text`) - 1), `text`) as binary) as `line`,
            if(startswith(`path`, '/Volumes/main/default/landing/flights/'), substring(`path`, 39), element_at(split(`path`, '/'), -1)) as `name`,
            `position`,
            `at`
        from (
            select
                posexplode(split(if(endswith(`value`, '\n'), substring(`value`, 1, length(`value`) - 1), `value`), '\n')) as (`position`, `text`),
                regexp_replace(url_decode(replace(`_metadata`.`file_path`, '+', '%2B')), '^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?', '') as `path`,
                `_metadata`.`file_modification_time` as `at`
            from stream read_files(
                '/Volumes/main/default/landing/flights',
                format => 'text',
                wholeText => true,
                recursiveFileLookup => true
            )
            where `value` != ''
        )
    )
)
)
)
