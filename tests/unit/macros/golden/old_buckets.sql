select
    `bucket`,
    count(*) as `files`,
    sum(`bytes`) as `bytes`,
    sum(`rows`) as `rows`
from (
    select `bucket`, `begins`, `bytes`, `written`, count(*) as `rows`
    from (
        select
            cast(`Day` as string) as `bucket`,
            try_cast(`Day` as timestamp) as `begins`,
            _metadata.file_path as `path`,
            _metadata.file_size as `bytes`,
            _metadata.file_modification_time as `written`
        from `s`.`logs`
        where try_cast(`Day` as timestamp) <= current_timestamp() - interval 30 days - interval 1 day
    )
    group by `bucket`, `begins`, `path`, `bytes`, `written`
)
group by `bucket`, `begins`
order by `begins`, `bucket`
