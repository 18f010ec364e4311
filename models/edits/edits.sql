with new_events as (

    select
        from_json(
            _value,
            'event_id string, time timestamp, channel string, page string, namespace string,
            user string, comment string, isRobot boolean, isNew boolean, isAnonymous boolean,
            countryIsoCode string, added bigint, deleted bigint, delta bigint'
        ) as edit,
        _batch_after,
        _batch_through
    from {{ alluvium.new_events(ref('edits_events'), 'edits') }} as bronze

)

select
    edit.event_id,
    edit.time as edited_at,
    to_date(edit.time) as edited_on,
    edit.channel,
    edit.page,
    edit.namespace,
    edit.user as user_name,
    edit.comment,
    edit.isrobot as is_robot,
    edit.isnew as is_new,
    edit.isanonymous as is_anonymous,
    edit.countryisocode as country_code,
    edit.added,
    edit.deleted,
    edit.delta,
    _batch_after,
    _batch_through
from new_events
where edit.event_id is not null
