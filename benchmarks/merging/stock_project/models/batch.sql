{{ config(materialized='table') }}
select * except (newest, _batch_id)
from (
    select
        *,
        op = 'd' as _deleted,
        row_number() over (partition by {{ var('key') }} order by seq desc) as newest
    from {{ source('raw', 'events') }}
) as events
where newest = 1
