with parsed as (

    select *
    from {{
        alluvium.new_events(ref('flights_parsed'), 'flights', bronze=ref('flights_events'))
    }} as events
    where reject_reason is null

)

select
    flight_date,
    carrier,
    flight,
    origin,
    dest,
    tailnum,
    distance,
    sched_dep_at,
    sched_arr_time,
    dep_at,
    arr_time,
    dep_delay,
    arr_delay,
    air_time,
    status,
    op,
    lsn,
    ts_ms,
    _batch_after,
    _batch_through
from {{
    alluvium.deduplicate('parsed', ['flight_date', 'carrier', 'flight', 'origin'], ['lsn', 'ts_ms'])
}} as newest_events
