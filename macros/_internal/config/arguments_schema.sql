{#- The arguments of operations, of data tests and of some macros, as `_settings_schema` has settings. -#}
{% macro _arguments_schema() %}
  {%- set of = alluvium._value_schemas() -%}
  {#- What says a version of a table. -#}
  {%- set point = {
      'version': dict(of.natural, type=['integer', 'null'], accepted='a version, a whole number'),
      'timestamp': dict(of.moment, type=['moment', 'null']),
      'tag': dict(of.text, type=['string', 'null'], accepted='the name of a tag'),
      'batch': dict(of.natural, type=['integer', 'null'], accepted='a batch, a whole number'),
  } -%}
  {%- set branch = dict(of.text, type=['string', 'null'], accepted='the name of a branch') -%}
  {%- set one_point = {'anyOf': [{'type': ['integer', 'null'], 'minimum': 0}, alluvium._mapping_schema(dict(point, branch=branch))],
                       'accepted': 'a version, or {tag: x}, {timestamp: 2024-01-31}, {batch: 17} or {branch: x}'} -%}
  {%- set prefer = {'anyOf': [{'type': 'null'}, {'enum': ['branch', 'table']}], 'accepted': 'branch, table'} -%}
  {%- set message = dict(of.text, type=['string', 'null']) -%}
  {{ return({
      'operation': {
          'adopt': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'branch': alluvium._mapping_schema(
              {'name': branch, 'models': of.models, 'timestamp': point.timestamp, 'dry_run': of.flag}, ['name', 'models']),
          'checkout': alluvium._mapping_schema({
              'model': of.model,
              'version': dict(of.natural, type=['integer', 'null'], accepted='a version of the candidate, a whole number'),
              'hold': of.flag,
              'dry_run': of.flag,
          }, ['model', 'version']),
          'clone': alluvium._mapping_schema(
              dict(point, model=of.model, to=dict(of.text, type=['string', 'null'], accepted='a table, schema.name'), message=message,
                   dry_run=of.flag), ['model', 'to']),
          'commits': alluvium._mapping_schema({
              'model': of.model,
              'limit': dict(of.positive, type=['integer', 'null']),
              'since': dict(of.moment, type=['moment', 'null']),
              'show': dict(of.natural, type=['integer', 'null'], accepted='a version, a whole number'),
          }, ['model']),
          'compact': alluvium._mapping_schema({'model': of.model, 'tier': of.tier, 'dry_run': of.flag}),
          'diff': alluvium._mapping_schema({'model': of.model, 'from': one_point, 'to': one_point, 'limit': of.positive}, ['model']),
          'discard': alluvium._mapping_schema({'name': branch, 'dry_run': of.flag}, ['name']),
          'drop_old_buckets': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'explain_merge': alluvium._mapping_schema({'model': of.model}, ['model']),
          'explain_read': alluvium._mapping_schema(
              {'model': of.model, 'where': {'type': ['string', 'object', 'null'], 'accepted': 'SQL, or values by column'}}, ['model']),
          'fsck': alluvium._mapping_schema({'models': of.models, 'full': of.flag}),
          'generate_feed': alluvium._mapping_schema({
              'source': dict(of.model, accepted='the name of a bronze model'), 'key': dict(of.columns, anyOf=[{'type': 'null'}] + of.columns.anyOf),
              'name': of.model, 'sample': of.positive, 'write': of.flag,
          }, ['source', 'key']),
          'index': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'merge_branch': alluvium._mapping_schema(
              {'name': branch, 'models': of.models, 'prefer': prefer, 'dry_run': of.flag}, ['name', 'models']),
          'publish': alluvium._mapping_schema({'model': of.model, 'untested': of.flag, 'dry_run': of.flag}, ['model']),
          'purge_tombstones': alluvium._mapping_schema({'model': of.model, 'older_than': of.duration, 'dry_run': of.flag}, ['model']),
          'recover': alluvium._mapping_schema({'models': of.models, 'dry_run': of.flag}),
          'restore': alluvium._mapping_schema({
              'model': of.model,
              'version': dict(of.natural, type=['integer', 'null'], accepted='a version of the table, a whole number'),
              'before_batch': dict(of.natural, type=['integer', 'null'], accepted='a batch, a whole number'),
              'batch': dict(of.natural, type=['integer', 'null'], accepted='a batch, a whole number'),
              'including': {'type': 'array', 'items': {'enum': ['backfill', 'purge', 'write']}, 'accepted': 'a list of backfill, purge, write'},
              'skip': dict(of.flag, type=['boolean', 'null']),
              'files': {'type': 'array', 'items': {'type': 'string'}, 'accepted': 'a list of names as in _source_partition'},
              'dry_run': of.flag,
          }, ['model']),
          'suggest_layout': alluvium._mapping_schema({'model': of.model}),
          'tag': alluvium._mapping_schema(
              dict(point, model=of.model, name=dict(of.text, type=['string', 'null'], accepted='a name'), message=message, dry_run=of.flag),
              ['model', 'name']),
          'untag': alluvium._mapping_schema(
              {'model': of.model, 'name': dict(of.text, type=['string', 'null'], accepted='the name of a tag'), 'dry_run': of.flag},
              ['model', 'name']),
          'vacuum': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'validate': alluvium._mapping_schema({}),
      },
      'macro': {
          'at': alluvium._mapping_schema({
              'version': dict(of.natural, type=['integer', 'null']),
              'timestamp': point.timestamp,
              'tag': dict(of.text, type=['string', 'null']),
              'batch': dict(of.natural, type=['integer', 'null']),
          }),
          'count_by': alluvium._mapping_schema({'relation': {}, 'by': {}, 'where': {}, 'min_max': {}}),
          'prune': alluvium._mapping_schema({'relation': {}, 'where': {}, 'join': {}, 'columns': {}}),
      },
      'test': {
          'fragments_per_bucket': alluvium._mapping_schema({'max': of.number}, ['max']),
          'freshness_slo': alluvium._mapping_schema({'events': of.relation, 'slo': dict(of.duration, type=['string', 'null'])}, ['events']),
          'immutable_column': alluvium._mapping_schema(
              {'column_name': of.text, 'unique_key': of.columns, 'events': of.relation, 'sample': of.number}, ['column_name', 'unique_key']),
          'known_columns': alluvium._mapping_schema({'column_name': of.text}, ['column_name']),
          'overlap_depth': alluvium._mapping_schema({'max': of.number}, ['max']),
          'rejected_share': alluvium._mapping_schema({'events': of.relation, 'max': of.number, 'within': of.duration}, ['events', 'max']),
          'rows_kept': alluvium._mapping_schema({'share': of.number, 'published': of.model}, ['share']),
          'undeclared_fields': alluvium._mapping_schema(
              {'events': of.relation, 'columns': dict(of.columns, anyOf=[{'type': 'null'}] + of.columns.anyOf), 'envelope': of.flag}, ['events']),
          'unique_key': alluvium._mapping_schema({'columns': of.columns}, ['columns']),
          'write_amplification': alluvium._mapping_schema({'max': of.number}, ['max']),
      },
  }) }}
{% endmacro %}
