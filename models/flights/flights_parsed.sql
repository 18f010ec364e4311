-- The rules of rejection, in their order, are those of docs/feeds.md.
-- explode(array(…)) keeps Spark from computing what stands in it again for every column that is
-- taken from it. Without it a filter on the reason makes the planner take a minute.
with envelopes as (

    -- Nested objects stay text here, so that a wrong one inside spoils nothing around it.
    select
        events.*,
        envelope
    from {{ ref('flights_events') }} as events
        lateral view explode(array(from_json(
            events._value,
            'op string, ts_ms string, source string, before string, after string,
        _corrupt_record string'
        ))) as envelope

),

images as (

    select
        envelopes._value,
        envelopes._source_partition,
        envelopes._source_offset,
        envelopes._source_timestamp,
        envelopes._batch_id,
        envelope.op,
        envelope is null or envelope._corrupt_record is not null as is_invalid,
        try_cast(get_json_object(envelope.source, '$.lsn') as bigint) as lsn,
        try_cast(envelope.ts_ms as bigint) as ts_ms,
        image
    from envelopes
        lateral view explode(array(from_json(
            if(envelope.op = 'd', envelope.before, envelope.after),
            'year string, month string, day string, carrier string, flight string, origin string,
        dest string, tailnum string, distance string, sched_dep_time string,
        sched_arr_time string, dep_delay string, arr_time string, arr_delay string,
        air_time string, status string, _corrupt_record string'
        ))) as image

),

typed as (

    select
        *,
        try_cast(image.year as int) as year,
        try_cast(image.month as int) as month,
        try_cast(image.day as int) as day,
        try_cast(image.flight as int) as flight,
        try_cast(image.distance as int) as distance,
        try_cast(image.sched_dep_time as int) as sched_dep_time,
        try_cast(image.sched_arr_time as int) as sched_arr_time,
        try_cast(image.dep_delay as int) as dep_delay,
        try_cast(image.arr_time as int) as arr_time,
        try_cast(image.arr_delay as int) as arr_delay,
        try_cast(image.air_time as int) as air_time
    from images

),

dated as (

    select
        *,
        op = 'd' as is_delete,
        try_cast(format_string('%04d-%02d-%02d', year, month, day) as date) as flight_date,
        try_make_timestamp(
            year, month, day, sched_dep_time div 100, sched_dep_time % 100, 0, 'UTC'
        ) as sched_dep_at,
        image.year is null
        or image.month is null
        or image.day is null
        or image.carrier is null
        or image.flight is null
        or image.origin is null as lacks_key,
        year is null or month is null or day is null or flight is null as has_wrong_key,
        sched_dep_time is null
        or (image.distance is not null and distance is null)
        or (image.sched_arr_time is not null and sched_arr_time is null)
        or (image.dep_delay is not null and dep_delay is null)
        or (image.arr_time is not null and arr_time is null)
        or (image.arr_delay is not null and arr_delay is null)
        or (image.air_time is not null and air_time is null) as has_wrong_type
    from typed

),

judged as (

    select
        dated.*,
        reject_reason
    from dated
        lateral view explode(array(
            case
                when is_invalid then 'invalid_json'
                when op = 't' then 'truncate'
                when op is null or op not in ('c', 'u', 'd', 'r') then 'unknown_op'
                when lsn is null or ts_ms is null then 'missing_order'
                when image is null or image._corrupt_record is not null then 'missing_image'
                when
                    lacks_key or (not is_delete and image.sched_dep_time is null)
                    then 'missing_field'
                when has_wrong_key or (not is_delete and has_wrong_type) then 'wrong_type'
                when
                    flight_date is null or (not is_delete and sched_dep_at is null)
                    then 'invalid_date'
            end
        )) as reject_reason

)

select
    flight_date,
    image.carrier,
    flight,
    image.origin,
    op,
    lsn,
    ts_ms,
    reject_reason,
    if(is_delete, null, image.dest) as dest,
    if(is_delete, null, image.tailnum) as tailnum,
    if(is_delete, null, distance) as distance,
    if(is_delete, null, sched_dep_at) as sched_dep_at,
    if(is_delete, null, sched_arr_time) as sched_arr_time,
    if(is_delete, null, dateadd(minute, dep_delay, sched_dep_at)) as dep_at,
    if(is_delete, null, arr_time) as arr_time,
    if(is_delete, null, dep_delay) as dep_delay,
    if(is_delete, null, arr_delay) as arr_delay,
    if(is_delete, null, air_time) as air_time,
    if(is_delete, null, image.status) as status,
    _value,
    _source_partition,
    _source_offset,
    _source_timestamp,
    _batch_id
from judged
