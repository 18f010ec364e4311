merge into s.items as DBT_INTERNAL_DEST
using (
    select
        `id`,
        `carrier`,
        `op`,
        `lsn`,
        `ts_ms`,
        `at`,
        `v`,
        coalesce((
            op = 'd'
        ), false) as `__alluvium_delete`
    from (
        select * except (`__alluvium_rank`)
        from (
            select
                *,
                row_number() over (
                    partition by `id`, `carrier`
                    order by `lsn` desc nulls last, `ts_ms` desc nulls last, to_json(struct(*), map(
                        'timeZone', 'UTC',
                        'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
                        'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
                    )) desc, cast(struct(*) as string) desc
                ) as `__alluvium_rank`
            from items__dbt_tmp
        )
        where `__alluvium_rank` = 1
    )
) as DBT_INTERNAL_SOURCE
on
    (DBT_INTERNAL_DEST.`at` is null)
    and (1 = 1)
    and DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id`
    and DBT_INTERNAL_SOURCE.`carrier` = DBT_INTERNAL_DEST.`carrier`
when matched and (coalesce(DBT_INTERNAL_SOURCE.`lsn` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`lsn` is not null) or (DBT_INTERNAL_SOURCE.`lsn` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`ts_ms` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`ts_ms` is not null))) and DBT_INTERNAL_SOURCE.`__alluvium_delete` then update set
    DBT_INTERNAL_DEST.`_deleted` = true,
    DBT_INTERNAL_DEST.`lsn` = DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_DEST.`ts_ms` = DBT_INTERNAL_SOURCE.`ts_ms`
when matched and (coalesce(DBT_INTERNAL_SOURCE.`lsn` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`lsn` is not null) or (DBT_INTERNAL_SOURCE.`lsn` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`ts_ms` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`ts_ms` is not null))) then update set
    DBT_INTERNAL_DEST.`op` = DBT_INTERNAL_SOURCE.`op`,
    DBT_INTERNAL_DEST.`lsn` = DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_DEST.`ts_ms` = DBT_INTERNAL_SOURCE.`ts_ms`,
    DBT_INTERNAL_DEST.`at` = coalesce(DBT_INTERNAL_SOURCE.`at`, DBT_INTERNAL_DEST.`at`),
    DBT_INTERNAL_DEST.`v` = DBT_INTERNAL_SOURCE.`v`,
    DBT_INTERNAL_DEST.`_deleted` = false
when not matched then insert (
    `id`,
    `carrier`,
    `op`,
    `lsn`,
    `ts_ms`,
    `at`,
    `v`,
    `_deleted`
) values (
    DBT_INTERNAL_SOURCE.`id`,
    DBT_INTERNAL_SOURCE.`carrier`,
    DBT_INTERNAL_SOURCE.`op`,
    DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_SOURCE.`ts_ms`,
    DBT_INTERNAL_SOURCE.`at`,
    DBT_INTERNAL_SOURCE.`v`,
    DBT_INTERNAL_SOURCE.`__alluvium_delete`
)
