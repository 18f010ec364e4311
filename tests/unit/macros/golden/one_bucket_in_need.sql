select
    `bucket`,
    count_if(`bytes` < 500) as `small`
from (
    select `bucket`, `begins`, `bytes`, `written`, count(*) as `rows`
    from (
        select
            cast(null as string) as `bucket`,
            cast(null as timestamp) as `begins`,
            _metadata.file_path as `path`,
            _metadata.file_size as `bytes`,
            _metadata.file_modification_time as `written`
        from `s`.`logs`
    )
    group by `bucket`, `begins`, `path`, `bytes`, `written`
)
group by `bucket`, `begins`
having
    `small` >= 4
    or (
        `small` >= 2
        and max(`written`) < current_timestamp() - interval 2 hours
    )
order by `begins`, `bucket`
