select
    reject_reason,
    _value,
    _source_partition,
    _source_offset,
    _source_timestamp,
    _batch_id
from {{ ref('flights_parsed') }} as parsed
where
    reject_reason is not null
    {#- `dbt compile --no-introspect` has nothing to ask whether the table exists. #}
    {% if flags.INTROSPECT is not sameas false and is_incremental() %}
        and parsed._batch_id
        > (select coalesce(max(rejected._batch_id), -1) from {{ this }} as rejected)
    {% endif %}
