describe detail `main`.`alluvium`.`edits`
select
    `bucket`,
    count_if(`bytes` < 67108864) as `small`
from (
    select `bucket`, `begins`, `bytes`, `written`, count(*) as `rows`
    from (
        select
            cast(`edited_on` as string) as `bucket`,
            try_cast(`edited_on` as timestamp) as `begins`,
            _metadata.file_path as `path`,
            _metadata.file_size as `bytes`,
            _metadata.file_modification_time as `written`
        from `main`.`alluvium`.`edits`
    )
    group by `bucket`, `begins`, `path`, `bytes`, `written`
)
group by `bucket`, `begins`
having
    `small` >= 32
    or (
        `small` >= 2
        and max(`written`) < current_timestamp() - interval 6 hours
        and (`begins` is null or `begins` < current_timestamp() - interval 6 hours - interval 1 day)
    )
order by `begins`, `bucket`
optimize `main`.`alluvium`.`edits` where `edited_on` in (date'2015-09-12')
