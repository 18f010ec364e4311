merge into t as DBT_INTERNAL_DEST
using (
    select
        `id`,
        `carrier`,
        `op`,
        `lsn`,
        `ts_ms`,
        `at`,
        `v`
    from (
        select * from (
        select * except (`__alluvium_rank`)
        from (
            select
                *,
                row_number() over (
                    partition by `id`, `carrier`
                    order by `lsn` desc nulls last, to_json(struct(*), map(
                        'timeZone', 'UTC',
                        'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
                        'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
                    )) desc, cast(struct(*) as string) desc
                ) as `__alluvium_rank`
            from (select * from src where (`id` is not null and `carrier` is not null))
        )
        where `__alluvium_rank` = 1
    )
        union all
        select * from (select * from src where not (`id` is not null and `carrier` is not null))
    )
) as DBT_INTERNAL_SOURCE
on
    DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id`
    and DBT_INTERNAL_SOURCE.`carrier` = DBT_INTERNAL_DEST.`carrier`
when matched and coalesce(DBT_INTERNAL_SOURCE.`lsn` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`lsn` is not null) then update set
    DBT_INTERNAL_DEST.`lsn` = DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_DEST.`v` = DBT_INTERNAL_SOURCE.`v`
when not matched then insert (
    `id`,
    `carrier`,
    `op`,
    `lsn`,
    `ts_ms`,
    `at`,
    `v`
) values (
    DBT_INTERNAL_SOURCE.`id`,
    DBT_INTERNAL_SOURCE.`carrier`,
    DBT_INTERNAL_SOURCE.`op`,
    DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_SOURCE.`ts_ms`,
    DBT_INTERNAL_SOURCE.`at`,
    DBT_INTERNAL_SOURCE.`v`
)
