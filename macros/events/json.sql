{#- select * from {{ alluvium.json(alluvium.new_events(ref('orders_events'), 'orders'), columns='id bigint, …') }}

    Subquery of plain JSON events with typed columns. -#}
{% macro json(events, columns, key=none, timestamps=none, decimals=none, binary=none, tombstones=none, log=none, everything=false) -%}
  {{- alluvium._events_query(alluvium._event_spec('alluvium.json', 'json', events, columns, {
      'key': key, 'connector': none, 'position': none, 'table': none, 'fields': none, 'timestamps': timestamps, 'decimals': decimals, 'binary': binary,
      'tombstones': tombstones, 'truncate': none, 'log': log, 'unavailable': none, 'everything': everything,
  })) -}}
{%- endmacro %}
