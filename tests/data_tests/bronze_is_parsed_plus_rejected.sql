{{ config(enabled=var('alluvium_demo', project_name == 'alluvium')) }}
-- Every line of the newest batch of bronze is either an event or rejected with a reason, and
-- neither twice. Earlier batches were counted when they were newest, by the parser of their day.
with newest as (

    select max(_batch_id) as batch_id from {{ ref('flights_events') }}

),

counts as (

    select
        (
            select count(*)
            from {{ ref('flights_events') }}
            where _batch_id = (select newest.batch_id from newest)
        ) as bronze,
        (
            select count(*)
            from {{ ref('flights_parsed') }}
            where reject_reason is null and _batch_id = (select newest.batch_id from newest)
        ) as parsed,
        (
            select count(*)
            from {{ ref('flights_rejected') }}
            where _batch_id = (select newest.batch_id from newest)
        ) as rejected

)

select *
from counts
where bronze != parsed + rejected
