select
    reject_reason,
    _value,
    _source_partition,
    _source_offset,
    _source_timestamp,
    _batch_id,
    _batch_after,
    _batch_through
from {{
    alluvium.new_events(ref('flights_parsed'), 'flights_rejected', bronze=ref('flights_events'))
}} as events
where reject_reason is not null
