-- The rules of rejection, in their order, are those of docs/feeds.md. The macro finds out what is
-- wrong; its first reason is not always the first of ours.
with changes as (

    select
        *,
        _op = 'd' as is_delete,
        coalesce(_rejected.reason, '') as mistake
    from {{
        alluvium.debezium(
            ref('flights_events'),
            key=['year', 'month', 'day', 'carrier', 'flight', 'origin'],
            columns='sched_dep_time int, year int, month int, day int, carrier string,
                flight int, origin string, dest string, tailnum string, distance int,
                sched_arr_time int, dep_delay int, arr_time int, arr_delay int, air_time int,
                status string',
            fields='source.lsn bigint, ts_ms bigint',
            position='source.lsn',
            unavailable=none,
            everything=true
        )
    }} as events

),

dated as (

    select
        *,
        try_cast(format_string('%04d-%02d-%02d', year, month, day) as date) as flight_date,
        try_make_timestamp(
            year, month, day, sched_dep_time div 100, sched_dep_time % 100, 0, 'UTC'
        ) as sched_dep_at
    from changes

)

select
    flight_date,
    carrier,
    flight,
    origin,
    _op as op,
    lsn,
    ts_ms,
    case
        when
            mistake in ('malformed', 'bad_encoding')
            or mistake = 'not_an_envelope' and (
                _value not rlike '^\\s*[{]'
                or from_json(_value, '_corrupt_record string')._corrupt_record is not null
            )
            then 'invalid_json'
        when _left_out = 'truncate' then 'truncate'
        when _op is null or _op not in ('c', 'u', 'd', 'r') then 'unknown_op'
        when lsn is null or ts_ms is null then 'missing_order'
        when
            mistake = 'not_an_envelope'
            or (
                mistake = 'missing_key' and is_delete
                and not coalesce(startswith(get_json_object(_value, '$.before'), '{'), false)
            )
            then 'missing_image'
        -- A wrong time of departure would be the first mistake.
        when
            mistake = 'missing_key'
            or (
                not is_delete and sched_dep_time is null
                and mistake != 'wrong_type: sched_dep_time'
            )
            then 'missing_field'
        when mistake like 'wrong_type%' then 'wrong_type'
        when
            flight_date is null or (not is_delete and sched_dep_at is null)
            then 'invalid_date'
    end as reject_reason,
    dest,
    tailnum,
    distance,
    sched_dep_at,
    sched_arr_time,
    dateadd(minute, dep_delay, sched_dep_at) as dep_at,
    arr_time,
    dep_delay,
    arr_delay,
    air_time,
    status,
    _value,
    _source_partition,
    _source_offset,
    _source_timestamp,
    _batch_id
from dated
