select
    flights.carrier,
    airlines.name as airline,
    hour(flights.sched_dep_at) as scheduled_hour,
    count(*) as flights,
    count_if(flights.status = 'diverted') as diverted,
    round(avg(flights.dep_delay), 1) as mean_dep_delay,
    round(avg(flights.arr_delay), 1) as mean_arr_delay,
    round(avg(case when flights.arr_delay > 15 then 1 else 0 end), 3) as share_late
from {{ alluvium.without_tombstones(ref('flights')) }} as flights
left join {{ ref('airlines') }} as airlines
    on flights.carrier = airlines.carrier
group by flights.carrier, airlines.name, hour(flights.sched_dep_at)
