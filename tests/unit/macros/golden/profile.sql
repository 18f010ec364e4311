select case when `k0` is null or `k1` is null then 'null_key' else 'merged' end as `fate`, to_json(named_struct(
    'events', sum(`events`),
    'key_count', count(*),
    'deletes', sum(if(`is_delete`, 1, 0)),
    'delete_events', sum(`delete_events`),
    'tied', sum(if(`tied`, 1, 0)),
    '_batch_through', max(`_batch_through`),
    'lacking', sum(`lacking`),
    'lo', cast(unix_micros(min(`lo`)) as string),
    'hi', cast(unix_micros(max(`hi`)) as string),
    'outside', sum(`outside`),
    'key0_lo', cast(min(`k0`) as string),
    'key0_hi', cast(max(`k0`) as string),
    'lacking0_lo', cast(min(if(`lacking` > 0, `k0`, null)) as string),
    'lacking0_hi', cast(max(if(`lacking` > 0, `k0`, null)) as string),
    'key1_lo', cast(if(bool_and(coalesce(get_json_object(to_json(named_struct('v', `k1`)), '$.v') = `k1`, true)), min(`k1`), null) as string),
    'key1_hi', cast(if(bool_and(coalesce(get_json_object(to_json(named_struct('v', `k1`)), '$.v') = `k1`, true)), max(`k1`), null) as string),
    'lacking1_lo', cast(if(bool_and(coalesce(get_json_object(to_json(named_struct('v', `k1`)), '$.v') = `k1`, true)), min(if(`lacking` > 0, `k1`, null)), null) as string),
    'lacking1_hi', cast(if(bool_and(coalesce(get_json_object(to_json(named_struct('v', `k1`)), '$.v') = `k1`, true)), max(if(`lacking` > 0, `k1`, null)), null) as string)
)) as `profile`
from (
    select
        `id` as `k0`,
        `carrier` as `k1`,
        count(*) as `events`,
        max_by(`__alluvium_delete`, struct(`lsn`, `ts_ms`)) as `is_delete`,
        count_if(`__alluvium_delete`) as `delete_events`,
        max(if(`__alluvium_delete`, struct(`lsn`, `ts_ms`), null))
            <=> max(if(`__alluvium_delete`, null, struct(`lsn`, `ts_ms`))) as `tied`,
        max(`_batch_through`) as `_batch_through`,
        count_if(`__alluvium_value` is null) as `lacking`,
        min(`__alluvium_value`) as `lo`,
        max(`__alluvium_value`) as `hi`,
        count_if(`__alluvium_value` is not null and not (`__alluvium_value` = 1)) as `outside`
    from (
        select
            *,
            cast(`at` as timestamp) as `__alluvium_value`,
            coalesce((
                op = 'd'
            ), false) as `__alluvium_delete`
        from src
    )
    group by `id`, `carrier`
)
group by case when `k0` is null or `k1` is null then 'null_key' else 'merged' end
