merge into t as DBT_INTERNAL_DEST
using (
    select
        `id`,
        `carrier`,
        `op`,
        `lsn`,
        `ts_ms`,
        if(coalesce(exists(`Lacked`, x -> lower(x) = 'at'), false), `__alluvium_before0`.`value`, `at`) as `at`,
        if(coalesce(exists(`Lacked`, x -> lower(x) = 'v'), false), `__alluvium_before1`.`value`, `v`) as `v`,
        nullif(filter(array(if(coalesce(exists(`Lacked`, x -> lower(x) = 'at'), false) and coalesce(`__alluvium_before0`.`deleted`, true), 'at', null), if(coalesce(exists(`Lacked`, x -> lower(x) = 'v'), false) and coalesce(`__alluvium_before1`.`deleted`, true), 'v', null)), x -> x is not null), cast(array() as array<string>)) as `Lacked`,
        coalesce(exists(`Lacked`, x -> lower(x) = 'at'), false) as `__alluvium_lacks0`,
        struct(`__alluvium_before0`.`o0`, `__alluvium_before0`.`o1`, `__alluvium_before0`.`deleted`) as `__alluvium_before0`,
        coalesce(exists(`Lacked`, x -> lower(x) = 'v'), false) as `__alluvium_lacks1`,
        struct(`__alluvium_before1`.`o0`, `__alluvium_before1`.`o1`, `__alluvium_before1`.`deleted`) as `__alluvium_before1`,
        coalesce((
            op = 'd'
        ), false) as `__alluvium_delete`
    from 
(
        select * except (`__alluvium_json`, `__alluvium_text`, `__alluvium_deletes`, `__alluvium_is_older`)
        from (
            select
                *,
                lead(true) over (partition by `id` order by `lsn` asc nulls first, `ts_ms` asc nulls first, `__alluvium_json`, `__alluvium_text`) as `__alluvium_is_older`,
                last(
                    case when `__alluvium_deletes` or not coalesce(exists(`Lacked`, x -> lower(x) = 'at'), false) then named_struct(
                        'o0', `lsn`,
                        'o1', `ts_ms`,
                        'value', if(`__alluvium_deletes`, null, `at`),
                        'deleted', `__alluvium_deletes`
                    ) end, true
                ) over (partition by `id` order by `lsn` asc nulls first, `ts_ms` asc nulls first, `__alluvium_json`, `__alluvium_text` rows between unbounded preceding and 1 preceding) as `__alluvium_before0`,
                last(
                    case when `__alluvium_deletes` or not coalesce(exists(`Lacked`, x -> lower(x) = 'v'), false) then named_struct(
                        'o0', `lsn`,
                        'o1', `ts_ms`,
                        'value', if(`__alluvium_deletes`, null, `v`),
                        'deleted', `__alluvium_deletes`
                    ) end, true
                ) over (partition by `id` order by `lsn` asc nulls first, `ts_ms` asc nulls first, `__alluvium_json`, `__alluvium_text` rows between unbounded preceding and 1 preceding) as `__alluvium_before1`
            from (
                select
                    *,
                    to_json(struct(*), map(
                        'timeZone', 'UTC',
                        'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
                        'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
                    )) as `__alluvium_json`,
                    cast(struct(*) as string) as `__alluvium_text`,
                    coalesce((
                        op = 'd'
                    ), false) as `__alluvium_deletes`
                from src
            )
        )
        where `__alluvium_is_older` is null
    )
) as DBT_INTERNAL_SOURCE
on
    DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id`
when matched and (coalesce(DBT_INTERNAL_SOURCE.`lsn` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`lsn` is not null) or (DBT_INTERNAL_SOURCE.`lsn` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`ts_ms` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`ts_ms` is not null))) and DBT_INTERNAL_SOURCE.`__alluvium_delete` then update set
    DBT_INTERNAL_DEST.`_deleted` = true,
    DBT_INTERNAL_DEST.`lsn` = DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_DEST.`ts_ms` = DBT_INTERNAL_SOURCE.`ts_ms`
when matched and (coalesce(DBT_INTERNAL_SOURCE.`lsn` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`lsn` is not null) or (DBT_INTERNAL_SOURCE.`lsn` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`ts_ms` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`ts_ms` is not null))) then update set
    DBT_INTERNAL_DEST.`carrier` = DBT_INTERNAL_SOURCE.`carrier`,
    DBT_INTERNAL_DEST.`op` = DBT_INTERNAL_SOURCE.`op`,
    DBT_INTERNAL_DEST.`lsn` = DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_DEST.`ts_ms` = DBT_INTERNAL_SOURCE.`ts_ms`,
    DBT_INTERNAL_DEST.`at` = if(DBT_INTERNAL_SOURCE.`__alluvium_lacks0` and not (coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` is not null) or (DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o1` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o1` is not null))), if(coalesce(DBT_INTERNAL_DEST.`_deleted`, false), null, DBT_INTERNAL_DEST.`at`), DBT_INTERNAL_SOURCE.`at`),
    DBT_INTERNAL_DEST.`v` = if(DBT_INTERNAL_SOURCE.`__alluvium_lacks1` and not (coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` is not null) or (DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o1` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o1` is not null))), if(coalesce(DBT_INTERNAL_DEST.`_deleted`, false), null, DBT_INTERNAL_DEST.`v`), DBT_INTERNAL_SOURCE.`v`),
    DBT_INTERNAL_DEST.`Lacked` = nullif(filter(array(if(DBT_INTERNAL_SOURCE.`__alluvium_lacks0` and if((coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` is not null) or (DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o0` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o1` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`__alluvium_before0`.`o1` is not null))), DBT_INTERNAL_SOURCE.`__alluvium_before0`.`deleted`, (coalesce(DBT_INTERNAL_DEST.`_deleted`, false) or coalesce(exists(DBT_INTERNAL_DEST.`Lacked`, x -> lower(x) = 'at'), false))), 'at', null), if(DBT_INTERNAL_SOURCE.`__alluvium_lacks1` and if((coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` > DBT_INTERNAL_DEST.`lsn`, DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` is not null) or (DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o0` <=> DBT_INTERNAL_DEST.`lsn` and coalesce(DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o1` > DBT_INTERNAL_DEST.`ts_ms`, DBT_INTERNAL_SOURCE.`__alluvium_before1`.`o1` is not null))), DBT_INTERNAL_SOURCE.`__alluvium_before1`.`deleted`, (coalesce(DBT_INTERNAL_DEST.`_deleted`, false) or coalesce(exists(DBT_INTERNAL_DEST.`Lacked`, x -> lower(x) = 'v'), false))), 'v', null)), x -> x is not null), cast(array() as array<string>)),
    DBT_INTERNAL_DEST.`_deleted` = false
when not matched then insert (
    `id`,
    `carrier`,
    `op`,
    `lsn`,
    `ts_ms`,
    `at`,
    `v`,
    `lacked`,
    `_deleted`
) values (
    DBT_INTERNAL_SOURCE.`id`,
    DBT_INTERNAL_SOURCE.`carrier`,
    DBT_INTERNAL_SOURCE.`op`,
    DBT_INTERNAL_SOURCE.`lsn`,
    DBT_INTERNAL_SOURCE.`ts_ms`,
    DBT_INTERNAL_SOURCE.`at`,
    DBT_INTERNAL_SOURCE.`v`,
    DBT_INTERNAL_SOURCE.`lacked`,
    DBT_INTERNAL_SOURCE.`__alluvium_delete`
)
