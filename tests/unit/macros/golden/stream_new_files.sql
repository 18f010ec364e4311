select `url`
from (
    select
        `url`,
        if(startswith(`path`, '/data/it\'s/'), substring(`path`, 12), element_at(split(`path`, '/'), -1)) as `name`
    from (
        select
            `_metadata`.`file_path` as `url`,
            regexp_replace(url_decode(replace(`_metadata`.`file_path`, '+', '%2B')), '^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?', '') as `path`
        from binaryFile.`/data/it's` with ('recursiveFileLookup' = 'true')
        where `length` > 0
    )
) as `files`
where not exists (
    select 1
    from `b`.`events` as `known`
    where `known`.`_source_partition` = `files`.`name`
)
order by `url`
