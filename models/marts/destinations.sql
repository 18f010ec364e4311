select
    flights.dest as airport,
    airports.name as airport_name,
    airports.tzone as time_zone,
    count(*) as flights,
    min(flights.flight_date) as first_day,
    max(flights.flight_date) as last_day,
    round(avg(flights.distance)) as mean_miles,
    round(avg(flights.arr_delay), 1) as mean_arr_delay
from {{ alluvium.without_tombstones(ref('flights')) }} as flights
left join {{ ref('airports') }} as airports
    on flights.dest = airports.faa
group by flights.dest, airports.name, airports.tzone
