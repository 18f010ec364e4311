merge into s.items__rejected as `kept`
using (
    select distinct
        reason,
        event,
        sha2(event, 256) as event_hash
    from (
        select
            'null_key' as reason,
            to_json(struct(`id`, `v`), map(
                'timeZone', 'UTC',
                'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX',
                'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'
            )) as event
        from src
    )
) as `found`
on `kept`.event_hash = `found`.event_hash
when not matched then insert (reason, event, event_hash, rejected_at)
values (`found`.reason, `found`.event, `found`.event_hash, current_timestamp())
