{#- `meta.alluvium_merge` of a node with its defaults filled in; none where the node has none. -#}
{% macro _merge_settings(node) %}
  {%- set given = (node.config.get('meta') or {}).get('alluvium_merge') -%}
  {%- if given is none -%}{{ return(none) }}{%- endif -%}
  {%- set order_by = alluvium._column_names(given.get('order_by')) -%}
  {%- set ranges = given.get('ranges') or none -%}
  {%- set prunes = given.get('ranges') is not sameas false and (not ranges or ranges.get('method') != 'none') -%}
  {%- set columns = alluvium._column_names(ranges.get('column')) if ranges is mapping else [] -%}
  {%- if ranges and ranges.get('method', 'min_max') == 'none' -%}{%- set ranges = none -%}{%- endif -%}
  {{ return({
      'unique_key': alluvium._column_names(node.config.get('unique_key')),
      'order_by': order_by,
      'stored_order': {},
      'delete_when': given.get('delete_when'),
      'on_match': given.get('on_match') or 'update',
      'null_keys': given.get('null_keys') or 'reject',
      'reject_by': alluvium._column_names(given.get('reject_by'))[0] if given.get('reject_by') else none,
      'keep_by': alluvium._column_names(given.get('keep_by'))[0] if given.get('keep_by') else none,
      'engine': given.get('engine') or 'auto',
      'verify': given.get('verify') or false,
      'tombstone_time': given.get('tombstone_time'),
      'soft': alluvium._keeps_tombstones(given),
      'notes_time': false,
      'prunes': prunes,
      'immutable': columns,
      'ranges': none if not ranges else {
          'column': columns[0],
          'columns': columns,
          'method': ranges.get('method') or 'min_max',
          'k': ranges.get('k') or 3,
          'max_ranges': ranges.get('max_ranges') or 64,
          'engine': ranges.get('engine') or 'sklearn',
          'model': ranges.get('model'),
      },
  }) }}
{% endmacro %}


{#- Whether deleted rows stay, as tombstones: `delete: soft`, the default where there is an order. `dbt.adapters.alluvium.relation` has this rule
    too: `ref` needs it while dbt parses. -#}
{% macro _keeps_tombstones(block) %}
  {{ return(block.get('delete_when') is not none and (block.get('delete') or ('soft' if block.get('order_by') else 'hard')) == 'soft') }}
{% endmacro %}


{#- SQL of when a tombstone was made; none where nothing says it. A delete sets the columns of the order alone, and `_tombstone_time`, which the
    merge keeps for tables that have no other time. types: of the table's columns by lower-case name. -#}
{% macro _tombstone_moment(settings, types) %}
  {%- if settings.tombstone_time -%}{{ return(settings.tombstone_time) }}{%- endif -%}
  {%- set first = settings.order_by | first | default('') -%}
  {%- if types.get(first | lower) in ('timestamp', 'timestamp_ntz', 'date') -%}{{ return(alluvium._quote_name(first)) }}{%- endif -%}
  {{ return('`_tombstone_time`' if '_tombstone_time' in types else none) }}
{% endmacro %}
