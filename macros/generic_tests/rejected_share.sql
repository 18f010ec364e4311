{% test rejected_share(model, events=none, max=none, within='1 day') %}
  {%- do alluvium._check_arguments('rejected_share', {'events': events, 'max': max, 'within': within}, kwargs, kind='test') -%}
  {%- set rejected = none -%}
  {%- if execute and flags.INTROSPECT is not sameas false -%}
    {%- set table = alluvium._existing_relation(alluvium._tested_node()) -%}
    {%- set kept = alluvium._rejected_relation(table) if table is not none else none -%}
    {%- set rejected = adapter.get_relation(kept.database, kept.schema, kept.identifier) if kept is not none else none -%}
  {%- endif %}
{#- Batches are compared with batches: a backlog's events are old, and were rejected now. -#}
{%- set since = 'coalesce((select min(`_batch_id`) from ' ~ events ~ ' where `_source_timestamp` >= current_timestamp() - interval ' ~ within ~ '), (select max(`_batch_id`) from '
    ~ events ~ '))' %}
select
    rejected.event_count as rejected_events,
    bronze.event_count as all_events
from (
    select count(*) as event_count
    from {{ rejected if rejected is not none else "(select '' as event, current_timestamp() as rejected_at where false)" }}
    where coalesce(try_cast(get_json_object(event, '$._batch_id') as bigint) >= {{ since }}, rejected_at >= current_timestamp() - interval {{ within }})
) as rejected
cross join (
    select count(*) as event_count
    from {{ events }}
    where `_batch_id` >= {{ since }}
) as bronze
where rejected.event_count > {{ max }} * bronze.event_count
{% endtest %}
