{#- select * from {{ alluvium.mongodb(alluvium.new_events(ref('users_events'), 'users'), columns='_id string, …') }}

    Subquery of the change events of Debezium's connector for MongoDB with typed columns, in any of its serialization modes. -#}
{% macro mongodb(events, columns, key='_id', table=none, fields=none, position=none, tombstones=none, truncate='stop', log=none,
                 unavailable='__debezium_unavailable_value', everything=false) -%}
  {{- alluvium._events_query(alluvium._event_spec('alluvium.mongodb', 'mongodb', events, columns, {
      'key': key, 'connector': none, 'position': position, 'table': table, 'fields': fields, 'timestamps': none, 'decimals': none, 'binary': none,
      'tombstones': tombstones, 'truncate': truncate, 'log': log, 'unavailable': unavailable, 'everything': everything,
  })) -}}
{%- endmacro %}
