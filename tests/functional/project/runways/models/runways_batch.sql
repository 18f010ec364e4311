{{ config(materialized='table') }}
with new_events as (

    select
        from_json(
            _value,
            'version bigint, op string, id bigint, airport_ref bigint, airport_ident string,
            length_ft int, width_ft int, surface string, lighted boolean, closed boolean,
            le_ident string, le_latitude_deg double, le_longitude_deg double, le_elevation_ft int,
            le_heading_deg double, le_displaced_threshold_ft int,
            he_ident string, he_latitude_deg double, he_longitude_deg double, he_elevation_ft int,
            he_heading_deg double, he_displaced_threshold_ft int'
        ) as event,
        _batch_after,
        _batch_through
    from {{ alluvium.new_events(ref('runways_events'), 'runways') }} as bronze

)

select
    event.*,
    _batch_after,
    _batch_through
from new_events
