{#- Every setting of ours and what it may be: a JSON Schema for each. It is the one source: the library `jsonschema` reads it on
    an alluvium target, `_walk_schema` on others.

    `accepted` is what a message says of a value. `missing` is what it says of one that is not there, where that
    differs. A `secret` is never shown. Types beyond JSON's: `false`, and `moment`, a date that may have a time. -#}
{% macro _settings_schema() %}
  {%- set of = alluvium._value_schemas() -%}
  {{ return(dict({
      'model': {
          'alluvium_merge': alluvium._mapping_schema({
              'order_by': of.columns,
              'delete_when': of.text,
              'on_match': alluvium._choice_schema(['update', 'ignore']),
              'delete': alluvium._choice_schema(['soft', 'hard']),
              'null_keys': alluvium._choice_schema(['reject', 'match', 'insert']),
              'reject_by': of.text,
              'keep_by': of.text,
              'engine': alluvium._choice_schema(['auto', 'merge_into']),
              'verify': {'anyOf': [of.flag, alluvium._choice_schema(['reject'])], 'accepted': 'true, false, reject'},
              'tombstone_time': of.text,
              'ranges': dict(alluvium._mapping_schema({
                  'column': of.columns,
                  'method': alluvium._choice_schema(['none', 'min_max', 'gaps', 'kmeans', 'cover', 'auto']),
                  'k': of.count,
                  'max_ranges': of.count,
                  'engine': alluvium._choice_schema(['sklearn', 'spark_ml']),
                  'model': of.text,
              }), type=['object', 'false', 'null']),
          }),
          'alluvium_layout': alluvium._mapping_schema({
              'sort_by': of.columns,
              'bucket_by': alluvium._mapping_schema({
                  'column': dict(of.text, missing='a partition column'),
                  'window': alluvium._choice_schema(['hour', 'day', 'week', 'month']),
              }, ['column', 'window']),
              'target_rows': of.positive,
              'target_bytes': of.size,
              'fan_in': of.factor,
              'quiet_after': of.duration_or_auto,
              'retain': of.duration,
              'budget': of.size,
              'max_memory': of.size,
              'curve': alluvium._choice_schema(['lexical', 'zorder']),
              'partial_progress': of.flag,
              'index': of.columns_or_none,
          }),
          'alluvium_publish': alluvium._mapping_schema({
              'audit': alluvium._choice_schema(['tests', 'none']),
              'require': of.flag,
              'before_first': alluvium._choice_schema(['error', 'empty']),
              'targets': dict(of.columns, accepted='a target of the profile, or a list of targets'),
              'retention': of.duration,
          }),
          'alluvium_reuse': of.flag,
          'alluvium_tier': dict(of.text, accepted='the name of a tier'),
      },
      'source': {
          'alluvium_stream': alluvium._mapping_schema({
              'format': of.text,
              'path': {'anyOf': [of.text, of.from_environment], 'accepted': 'a text or {env: NAME}'},
              'topic': dict(of.columns, accepted='a topic or a list of topics'),
              'options': {'type': 'object', 'additionalProperties': of.option, 'secret': true, 'accepted': 'a mapping of option to value or {env: NAME}'},
              'schema': dict(of.text, accepted="column definitions, for example 'id bigint'"),
              'min_rows': of.positive,
              'max_wait': {'type': ['string', 'integer'], 'minimum': 0, 'pattern': '\\A\\s*[0-9]+\\s*(s|seconds?|m|minutes?|h|hours?|d|days?)\\s*\\Z',
                           'accepted': "seconds, or a text like '90 s', '15 minutes'"},
              'max_files_per_trigger': of.positive,
              'max_bytes_per_trigger': of.positive,
          }),
      },
      'var': {
          'alluvium_backfill': {
              'type': ['object', 'null'],
              'accepted': '{model: {from_time: 2024-01-31 18:00, before_time: 2024-02-01}}',
              'additionalProperties': alluvium._mapping_schema({
                  'from_batch': of.natural, 'through_batch': of.natural, 'from_time': of.moment, 'before_time': of.moment,
              }),
          },
          'alluvium_tiers': {
              'type': 'object',
              'minProperties': 1,
              'accepted': 'a mapping of names to tiers',
              'additionalProperties': alluvium._mapping_schema({
                  'weight': of.count,
                  'min_share': of.natural,
                  'slo': of.duration,
                  'spark_conf': {'type': 'object', 'additionalProperties': of.option, 'secret': true, 'accepted': 'a mapping of Spark properties'},
              }),
          },
          'alluvium_maintenance': of.flag,
          'alluvium_reuse': of.flag,
          'alluvium_storage': of.flag,
          'alluvium_demo': of.flag,
      },
      'config': {
          'unique_key': of.some_columns,
          'partition_by': of.some_columns,
          'merge_update_columns': of.some_columns,
          'merge_exclude_columns': of.some_columns,
          'incremental_predicates': of.conditions,
          'predicates': of.conditions,
      },
  }, **alluvium._arguments_schema())) }}
{% endmacro %}
