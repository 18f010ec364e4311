{#- Every setting of ours and what it may be: a JSON Schema for each. It is the one source: the library `jsonschema` reads it on
    an alluvium target, `_walk_schema` on others.

    `accepted` is what a message says of a value; `missing` what it says of one that is not there, where that differs;
    a `secret` is never shown. Types beyond those of JSON: `false`, and `moment`, a date that may have a time. -#}
{% macro _settings_schema() %}
  {%- set text = {'type': 'string', 'pattern': '\\S', 'accepted': 'a text'} -%}
  {#- Of an operation: null is one that was not given. -#}
  {%- set model = dict(text, type=['string', 'null'], accepted='the name of a model') -%}
  {%- set tier = dict(text, type=['string', 'null'], accepted='the name of a tier') -%}
  {#- Of a data test, which says more of a number than its type. -#}
  {%- set relation = {'accepted': "a relation, such as ref('orders_events')"} -%}
  {%- set number = {'accepted': 'a number'} -%}
  {%- set flag = {'type': 'boolean', 'accepted': 'true, false'} -%}
  {%- set count = {'type': 'integer', 'minimum': 1, 'maximum': 256, 'accepted': 'a whole number from 1 to 256'} -%}
  {%- set natural = {'type': 'integer', 'minimum': 0, 'accepted': 'a whole number'} -%}
  {%- set positive = {'type': 'integer', 'minimum': 1, 'accepted': 'a whole number from 1'} -%}
  {%- set factor = {'type': 'integer', 'minimum': 2, 'maximum': 1000, 'accepted': 'a whole number from 2 to 1000'} -%}
  {%- set moment = {'type': 'moment', 'accepted': 'a date, or a date and time in UTC (2024-01-31 18:00)'} -%}
  {%- set time = '[1-9][0-9]{0,5} (minute|hour|day|week)s?' -%}
  {%- set duration = {'type': 'string', 'pattern': '\\A' ~ time ~ '\\Z',
                      'accepted': 'a number of minutes, hours, days or weeks, such as 15 minutes'} -%}
  {%- set size = {'type': ['string', 'integer'], 'minimum': 1, 'maximum': 10 ** 12 - 1, 'pattern': '\\A[1-9][0-9]{0,11}( ?(KiB|MiB|GiB|TiB))?\\Z',
                  'accepted': 'bytes, such as 134217728, 128 MiB or 1 GiB'} -%}
  {%- set columns = {'anyOf': [text, {'type': 'array', 'items': text, 'minItems': 1}], 'accepted': 'a column, or a list of columns'} -%}
  {#- dbt's own keys: an empty list, or an empty text, names none. -#}
  {%- set some_columns = {'anyOf': [{'type': ['string', 'null']}, {'type': 'array', 'items': text}],
                          'accepted': 'a column, or a list of columns'} -%}
  {%- set conditions = {'anyOf': [{'type': ['string', 'null']}, {'type': 'array', 'items': text}],
                        'accepted': 'SQL, or a list of SQL'} -%}
  {%- set from_environment = {'type': 'object', 'properties': {'env': text}, 'required': ['env'], 'additionalProperties': false} -%}
  {%- set option = {'anyOf': [{'type': ['string', 'number', 'boolean']}, from_environment], 'secret': true,
                    'accepted': 'a text, a number, a boolean or {env: NAME}'} -%}
  {{ return({
      'model': {
          'alluvium_merge': alluvium._mapping_schema({
              'order_by': columns,
              'delete_when': text,
              'on_match': alluvium._choice_schema(['update', 'ignore']),
              'delete': alluvium._choice_schema(['soft', 'hard']),
              'null_keys': alluvium._choice_schema(['reject', 'match', 'insert']),
              'reject_by': text,
              'engine': alluvium._choice_schema(['auto', 'merge_into']),
              'verify': flag,
              'tombstone_time': text,
              'ranges': dict(alluvium._mapping_schema({
                  'column': columns,
                  'method': alluvium._choice_schema(['none', 'min_max', 'gaps', 'kmeans', 'cover', 'auto']),
                  'k': count,
                  'max_ranges': count,
                  'engine': alluvium._choice_schema(['sklearn', 'spark_ml']),
                  'model': text,
              }), type=['object', 'false', 'null']),
          }),
          'alluvium_layout': alluvium._mapping_schema({
              'sort_by': columns,
              'bucket_by': alluvium._mapping_schema({
                  'column': dict(text, missing='a partition column'),
                  'window': alluvium._choice_schema(['hour', 'day', 'week', 'month']),
              }, ['column', 'window']),
              'target_rows': positive,
              'target_bytes': size,
              'fan_in': factor,
              'tiers': {'type': 'integer', 'minimum': 1, 'maximum': 64, 'accepted': 'a whole number from 1 to 64'},
              'quiet_after': {'type': 'string', 'pattern': '\\A(auto|' ~ time ~ ')\\Z',
                              'accepted': 'auto, or a number of minutes, hours, days or weeks, such as 6 hours'},
              'retain': duration,
              'levels': alluvium._mapping_schema({'growth': factor, 'rows': positive}),
              'budget': size,
              'max_memory': size,
              'curve': alluvium._choice_schema(['lexical', 'zorder']),
              'partial_progress': flag,
          }),
          'alluvium_tier': dict(text, accepted='the name of a tier'),
      },
      'source': {
          'alluvium_stream': alluvium._mapping_schema({
              'format': text,
              'path': {'anyOf': [text, from_environment], 'accepted': 'a text or {env: NAME}'},
              'topic': dict(columns, accepted='a topic or a list of topics'),
              'options': {'type': 'object', 'additionalProperties': option, 'secret': true, 'accepted': 'a mapping of option to value or {env: NAME}'},
              'schema': dict(text, accepted="column definitions, such as 'id bigint'"),
              'min_rows': positive,
              'max_wait': {'type': ['string', 'integer'], 'minimum': 0, 'pattern': '\\A\\s*[0-9]+\\s*(s|seconds?|m|minutes?|h|hours?|d|days?)\\s*\\Z',
                           'accepted': "seconds, or such as '90 s', '15 minutes'"},
              'max_files_per_trigger': positive,
              'max_bytes_per_trigger': positive,
          }),
      },
      'var': {
          'alluvium_backfill': {
              'type': ['object', 'null'],
              'accepted': '{model: {from_time: 2024-01-31 18:00, before_time: 2024-02-01}}',
              'additionalProperties': alluvium._mapping_schema({
                  'from_batch': natural, 'through_batch': natural, 'from_time': moment, 'before_time': moment,
              }),
          },
          'alluvium_tiers': {
              'type': 'object',
              'minProperties': 1,
              'accepted': 'a mapping of names to tiers',
              'additionalProperties': alluvium._mapping_schema({
                  'weight': count,
                  'min_share': natural,
                  'slo': duration,
                  'spark_conf': {'type': 'object', 'additionalProperties': option, 'secret': true, 'accepted': 'a mapping of Spark properties'},
              }),
          },
          'alluvium_maintenance': flag,
          'alluvium_storage': flag,
          'alluvium_demo': flag,
      },
      'config': {
          'unique_key': some_columns,
          'partition_by': some_columns,
          'merge_update_columns': some_columns,
          'merge_exclude_columns': some_columns,
          'incremental_predicates': conditions,
          'predicates': conditions,
      },
      'operation': {
          'compact': alluvium._mapping_schema({'model': model, 'tier': tier, 'dry_run': flag}),
          'drop_old_buckets': alluvium._mapping_schema({'model': model, 'dry_run': flag}, ['model']),
          'explain_merge': alluvium._mapping_schema({'model': model}, ['model']),
          'purge_tombstones': alluvium._mapping_schema({'model': model, 'older_than': duration, 'dry_run': flag}, ['model']),
          'suggest_layout': alluvium._mapping_schema({'model': model}),
          'vacuum': alluvium._mapping_schema({'model': model, 'dry_run': flag}, ['model']),
          'validate': alluvium._mapping_schema({}),
      },
      'test': {
          'fragments_per_bucket': alluvium._mapping_schema({'max': number}, ['max']),
          'freshness_slo': alluvium._mapping_schema({'events': relation, 'slo': dict(duration, type=['string', 'null'])}, ['events']),
          'immutable_column': alluvium._mapping_schema(
              {'column_name': text, 'unique_key': columns, 'events': relation, 'sample': number}, ['column_name', 'unique_key']),
          'overlap_depth': alluvium._mapping_schema({'max': number}, ['max']),
          'unique_key': alluvium._mapping_schema({'columns': columns}, ['columns']),
          'write_amplification': alluvium._mapping_schema({'max': number}, ['max']),
      },
  }) }}
{% endmacro %}


{% macro _mapping_schema(properties, required=[]) %}
  {{ return({'type': 'object', 'properties': properties, 'required': required, 'additionalProperties': false}) }}
{% endmacro %}


{% macro _choice_schema(values) %}
  {{ return({'enum': values, 'accepted': values | join(', ')}) }}
{% endmacro %}
