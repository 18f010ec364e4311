{#- What is known of a merge before its batch is read. That is the settings, the columns that they name, and what the
    session is asked to plan. No query is run. Where there are `mistakes` the rest is left out.

    node: the merged model; relation: its table; table: what `_stored_table` says of it; selected: the batch's columns.
    Gives `added`, columns for tombstones that the table is yet to have. Gives of ranges `request`, what the library is
    asked for, and `range_rows`, SQL of the rows that a model has planned. Where `several` columns are asked for, the settings have no ranges of their own. `warnings` says what was
    left out. -#}
{% macro _merge_outline(node, relation, table, selected) %}
  {%- set settings = alluvium._merge_settings(node) -%}
  {%- set types = alluvium._types_of(table.columns) -%}
  {%- set source_types = alluvium._types_of(selected) -%}
  {%- set mistakes = alluvium._merge_mistakes(node, settings, source_types, types, table) -%}
  {%- if mistakes -%}{{ return({'name': alluvium._name_of(node), 'settings': settings, 'mistakes': mistakes}) }}{%- endif -%}
  {%- set is_first = settings.soft and '_deleted' not in types -%}
  {%- do settings.update({'notes_time': settings.soft and ('_tombstone_time' in types or (is_first and alluvium._tombstone_moment(settings, types) is none))}) -%}
  {%- set keys = alluvium._stored_keys(table, settings, types, source_types) -%}
  {%- if keys and settings.null_keys == 'match' -%}
    {#- Ranges are planned on the events: a key that the table stores as NULL would lie outside of them. -#}
    {%- do settings.update({'ranges': none}) -%}
  {%- endif -%}
  {%- do settings.update({'stored_order': alluvium._stored_order(table, settings, types, source_types)}) -%}
  {%- set warnings = [] -%}
  {%- set several = settings.ranges is not none and settings.ranges.columns | length > 1 and target.type == 'alluvium' -%}
  {%- set request = none -%}
  {%- set range_rows = none -%}
  {%- if several -%}
    {%- set request = alluvium._several_ranges_request(relation, settings, types, source_types, warnings) -%}
    {%- do settings.update({'ranges': none}) -%}
  {%- elif settings.ranges is not none -%}
    {%- set obstacle = alluvium._range_obstacle(settings, types, source_types) -%}
    {%- if obstacle -%}
      {%- do warnings.append(alluvium._name_of(node) ~ ': ' ~ obstacle) -%}
      {%- do settings.update({'ranges': none}) -%}
    {%- else -%}
      {%- set request = alluvium._range_request(settings, relation) -%}
      {%- if settings.ranges.model and target.type == 'alluvium' -%}
        {%- set planned = alluvium._existing_relation(alluvium._find_model(settings.ranges.model, 'meta.alluvium_merge.ranges.model')) -%}
        {%- set range_rows = alluvium._range_rows_sql(planned.render()) if planned is not none else none -%}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
  {{ return({
      'name': alluvium._name_of(node), 'settings': settings, 'mistakes': [], 'warnings': warnings, 'types': types, 'source_types': source_types,
      'stored': table.columns | map(attribute='name') | list, 'selected': alluvium._event_columns(selected),
      'controls': ['_batch_through', '_batch_after'] | select('in', source_types) | list,
      'stored_keys': keys, 'box': alluvium._bounded_keys(settings, types, source_types),
      'added': '`_deleted` boolean' ~ (', `_tombstone_time` timestamp' if settings.notes_time else '') if is_first else none,
      'several': several, 'request': request, 'range_rows': range_rows,
  }) }}
{% endmacro %}
