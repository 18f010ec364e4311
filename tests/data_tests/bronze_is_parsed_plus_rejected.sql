{{ config(enabled=var('alluvium_demo', project_name == 'alluvium') is sameas true) }}
-- Every line of bronze is either an event or rejected with a reason, and neither twice.
with counts as (

    select
        (select count(*) from {{ ref('flights_events') }}) as bronze,
        (select count(*) from {{ ref('flights_parsed') }} where reject_reason is null) as parsed,
        (select count(*) from {{ ref('flights_rejected') }}) as rejected

)

select *
from counts
where bronze != parsed + rejected
