{#- select * from {{ alluvium.debezium(alluvium.new_events(ref('orders_events'), 'orders'), connector='postgresql', key='id', columns='id bigint, …') }}

    Subquery of Debezium's change events with typed columns. docs/change-events.md says what each kind of event becomes. -#}
{% macro debezium(events, key, columns, connector=none, position=none, flat=false, table=none, fields=none, timestamps=none, decimals=none, binary=none,
                  tombstones=none, truncate='stop', log=none, unavailable='__debezium_unavailable_value', everything=false) -%}
  {%- set who = 'alluvium.debezium' -%}
  {%- for argument, value in [('connector', connector), ('table', table), ('fields', fields)] if flat and value is not none -%}
    {{ alluvium._refuse(who, argument ~ ' is set, and flat events have no envelope', 'without ' ~ argument) }}
  {%- endfor -%}
  {{- alluvium._events_query(alluvium._event_spec(who, 'flat' if flat else 'debezium', events, columns, {
      'key': key, 'connector': connector, 'position': position, 'table': table, 'fields': fields, 'timestamps': timestamps, 'decimals': decimals,
      'binary': binary, 'tombstones': tombstones, 'truncate': truncate, 'log': log, 'unavailable': unavailable, 'everything': everything,
  })) -}}
{%- endmacro %}
