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
            if(endswith(`value`, '\r'), substring(cast(`value` as binary), 1, octet_length(`value`) - 1), cast(`value` as binary)) as `line`,
            if(startswith(`path`, '/data/it\'s/'), substring(`path`, 12), element_at(split(`path`, '/'), -1)) as `name`,
            `position`,
            `at`
        from (
            select
                `value`,
                regexp_replace(url_decode(replace(`_metadata`.`file_path`, '+', '%2B')), '^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?', '') as `path`,
                `_metadata`.`file_modification_time` as `at`,
                monotonically_increasing_id() & 8589934591L as `position`
            from text.`/data/it's` with ('recursiveFileLookup' = 'true', 'lineSep' = '\n')
            where `_metadata`.`file_path` in (
                'file:/data/it\'s/a%20b',
                'file:/data/it\'s/c'
            )
        )
    )
)
