with new_events as (

    -- A column of a lateral view is worked out once, whatever is taken of it.
    select
        event,
        _batch_after,
        _batch_through
    from {{ alluvium.new_events(ref('runways_events'), 'runways_wap') }} as bronze
        lateral view explode(array(from_json(
            _value,
            'op string, ts_ms bigint, source struct<version: bigint>, before struct<id: bigint>,
            after struct<id: bigint, airport_ref: bigint, airport_ident: string,
            length_ft: int, width_ft: int, surface: string, lighted: boolean, closed: boolean,
            le_ident: string, le_latitude_deg: double, le_longitude_deg: double,
            le_elevation_ft: int, le_heading_deg: double, le_displaced_threshold_ft: int,
            he_ident: string, he_latitude_deg: double, he_longitude_deg: double,
            he_elevation_ft: int, he_heading_deg: double, he_displaced_threshold_ft: int>'
        ))) as event

)

select
    coalesce(event.after.id, event.before.id) as id,
    event.after.airport_ref,
    event.after.airport_ident,
    event.after.length_ft,
    event.after.width_ft,
    event.after.surface,
    event.after.lighted,
    event.after.closed,
    event.after.le_ident,
    event.after.le_latitude_deg,
    event.after.le_longitude_deg,
    event.after.le_elevation_ft,
    event.after.le_heading_deg,
    event.after.le_displaced_threshold_ft,
    event.after.he_ident,
    event.after.he_latitude_deg,
    event.after.he_longitude_deg,
    event.after.he_elevation_ft,
    event.after.he_heading_deg,
    event.after.he_displaced_threshold_ft,
    event.op,
    event.source.version,
    timestamp_millis(event.ts_ms) as published_at,
    _batch_after,
    _batch_through
from new_events
