{%- if target.type == 'alluvium' %}
-- depends_on: {{ ref('flights_ranges') }}
{%- endif %}
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
from {{ ref('flights_batch') }}
