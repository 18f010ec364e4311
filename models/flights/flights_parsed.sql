{#- The rules of rejection, in their order, are those of docs/feeds.md. -#}
{%- set integers = ['distance', 'sched_arr_time', 'arr_time', 'dep_delay', 'arr_delay', 'air_time'] -%}
{%- set key_integers = ['year', 'month', 'day', 'flight'] -%}
with envelopes as (

    -- Nested objects stay text here, so that a wrong one inside spoils nothing around it.
    -- explode() keeps Spark from parsing the line again for each column that is taken from it.
    select
        events.*,
        envelope
    from {{ ref('flights_events') }} as events
    lateral view explode(array(from_json(
        events._value,
        'op string, ts_ms string, source string, before string, after string, _corrupt_record string'
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
        {%- for column in key_integers + ['sched_dep_time'] + integers %}
        try_cast(image.{{ column }} as int) as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from images

),

dated as (

    select
        *,
        try_cast(format_string('%04d-%02d-%02d', year, month, day) as date) as flight_date,
        try_make_timestamp(
            year, month, day, sched_dep_time div 100, sched_dep_time % 100, 0, 'UTC'
        ) as sched_dep_at
    from typed

),

judged as (

    -- As above: without explode() a filter on the reason makes Spark's planner take a minute.
    select
        dated.*,
        reject_reason
    from dated
    lateral view explode(array(
        case
            when is_invalid then 'invalid_json'
            when op is null or op not in ('c', 'u', 'd', 'r') then 'unknown_op'
            when lsn is null or ts_ms is null then 'missing_order'
            when image is null or image._corrupt_record is not null then 'missing_image'
            when
                {%- for column in key_integers + ['carrier', 'origin'] %}
                image.{{ column }} is null or
                {%- endfor %}
                (op != 'd' and image.sched_dep_time is null)
                then 'missing_field'
            when
                {%- for column in key_integers %}
                {{ column }} is null or
                {%- endfor %}
                (op != 'd' and (
                    sched_dep_time is null
                    {%- for column in integers %}
                    or (image.{{ column }} is not null and {{ column }} is null)
                    {%- endfor %}
                ))
                then 'wrong_type'
            when flight_date is null or (op != 'd' and sched_dep_at is null) then 'invalid_date'
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
    {%- for column in ['image.dest', 'image.tailnum', 'distance', 'sched_dep_at', 'sched_arr_time',
                       'arr_time', 'dep_delay', 'arr_delay', 'air_time', 'image.status'] %}
    if(op = 'd', null, {{ column }}) as {{ column | replace('image.', '') }},
    {%- endfor %}
    if(op = 'd', null, dateadd(minute, dep_delay, sched_dep_at)) as dep_at,
    _value,
    _source_partition,
    _source_offset,
    _source_timestamp,
    _batch_id
from judged
