{{ config(materialized='table') }}
{%- set events = alluvium.new_events(source('raw', 'events'), 'items') %}
select * except (_batch_id)
from {{ alluvium.deduplicate(events, [var('key')], ['seq']) }} as events
