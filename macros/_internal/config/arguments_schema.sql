{#- The arguments of operations and of data tests, as `_settings_schema` has settings. -#}
{% macro _arguments_schema() %}
  {%- set of = alluvium._value_schemas() -%}
  {{ return({
      'operation': {
          'checkout': alluvium._mapping_schema({
              'model': of.model,
              'version': dict(of.natural, type=['integer', 'null'], accepted='a version of the candidate, a whole number'),
              'hold': of.flag,
              'dry_run': of.flag,
          }, ['model', 'version']),
          'compact': alluvium._mapping_schema({'model': of.model, 'tier': of.tier, 'dry_run': of.flag}),
          'drop_old_buckets': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'explain_merge': alluvium._mapping_schema({'model': of.model}, ['model']),
          'log': alluvium._mapping_schema({
              'model': of.model,
              'limit': dict(of.positive, type=['integer', 'null']),
              'since': dict(of.moment, type=['moment', 'null']),
              'show': dict(of.natural, type=['integer', 'null'], accepted='a version, a whole number'),
          }, ['model']),
          'publish': alluvium._mapping_schema({'model': of.model, 'untested': of.flag, 'dry_run': of.flag}, ['model']),
          'purge_tombstones': alluvium._mapping_schema({'model': of.model, 'older_than': of.duration, 'dry_run': of.flag}, ['model']),
          'suggest_layout': alluvium._mapping_schema({'model': of.model}),
          'vacuum': alluvium._mapping_schema({'model': of.model, 'dry_run': of.flag}, ['model']),
          'validate': alluvium._mapping_schema({}),
      },
      'test': {
          'fragments_per_bucket': alluvium._mapping_schema({'max': of.number}, ['max']),
          'freshness_slo': alluvium._mapping_schema({'events': of.relation, 'slo': dict(of.duration, type=['string', 'null'])}, ['events']),
          'immutable_column': alluvium._mapping_schema(
              {'column_name': of.text, 'unique_key': of.columns, 'events': of.relation, 'sample': of.number}, ['column_name', 'unique_key']),
          'overlap_depth': alluvium._mapping_schema({'max': of.number}, ['max']),
          'rows_kept': alluvium._mapping_schema({'share': of.number, 'published': of.model}, ['share']),
          'unique_key': alluvium._mapping_schema({'columns': of.columns}, ['columns']),
          'write_amplification': alluvium._mapping_schema({'max': of.number}, ['max']),
      },
  }) }}
{% endmacro %}
