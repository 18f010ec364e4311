{#- What is known of a merge before its batch is read: the settings, the columns that they name, and what the session is asked
    to plan. No query is run. Where there are `mistakes` the rest is left out.

    node: the merged model; relation: its table; table: what `stored_table` says of it; selected: the batch's columns.
    Gives of ranges `request`, what the library is asked for, and `range_rows`, SQL of the rows that a model has planned; where
    `several` columns are asked for, the settings have no ranges of their own. `warnings` says what was left out. -#}
{% macro merge_outline(node, relation, table, selected) %}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- set types = alluvium.types_of(table.columns) -%}
  {%- set source_types = alluvium.types_of(selected) -%}
  {%- set mistakes = alluvium.merge_mistakes(node, settings, source_types, types, table) -%}
  {%- if mistakes -%}{{ return({'name': alluvium.name_of(node), 'settings': settings, 'mistakes': mistakes}) }}{%- endif -%}
  {%- set keys = alluvium.stored_keys(table, settings, types, source_types) -%}
  {%- if keys and settings.null_keys == 'match' -%}
    {#- Ranges are planned on the events: a key that the table stores as NULL would lie outside of them. -#}
    {%- do settings.update({'ranges': none}) -%}
  {%- endif -%}
  {%- do settings.update({'stored_order': alluvium.stored_order(table, settings, types, source_types)}) -%}
  {%- set warnings = [] -%}
  {%- set several = settings.ranges is not none and settings.ranges.columns | length > 1 and target.type == 'alluvium' -%}
  {%- set request = none -%}
  {%- set range_rows = none -%}
  {%- if several -%}
    {%- set request = alluvium.several_ranges_request(relation, settings, types, source_types, warnings) -%}
    {%- do settings.update({'ranges': none}) -%}
  {%- elif settings.ranges is not none -%}
    {%- set obstacle = alluvium.range_obstacle(settings, types, source_types) -%}
    {%- if obstacle -%}
      {%- do warnings.append(alluvium.name_of(node) ~ ': ' ~ obstacle) -%}
      {%- do settings.update({'ranges': none}) -%}
    {%- else -%}
      {%- set request = alluvium.range_request(settings, relation) -%}
      {%- if settings.ranges.model and target.type == 'alluvium' -%}
        {%- set planned = alluvium.existing_relation(alluvium.find_model(settings.ranges.model, 'meta.alluvium_merge.ranges.model')) -%}
        {%- set range_rows = alluvium.range_rows_sql(planned.render()) if planned is not none else none -%}
      {%- endif -%}
    {%- endif -%}
  {%- endif -%}
  {{ return({
      'name': alluvium.name_of(node), 'settings': settings, 'mistakes': [], 'warnings': warnings, 'types': types, 'source_types': source_types,
      'stored': table.columns | map(attribute='name') | list, 'selected': alluvium.event_columns(selected),
      'controls': ['_batch_through', '_batch_after'] | select('in', source_types) | list,
      'stored_keys': keys, 'box': alluvium.bounded_keys(settings, types, source_types),
      'several': several, 'request': request, 'range_rows': range_rows,
  }) }}
{% endmacro %}


{#- Why the ranges' column cannot have any; none where it can. -#}
{% macro range_obstacle(settings, types, source_types) %}
  {%- set column = settings.ranges.column | lower -%}
  {%- if not alluvium.can_range(types[column]) -%}
    {{ return('column ' ~ settings.ranges.column ~ ' is ' ~ types[column] ~ ', a type without ranges: merging without them') }}
  {%- elif column in settings.unique_key | map('lower') | list and types[column] != source_types[column] -%}
    {#- Another type compares otherwise: '01' is 1, but lies not between '1' and '1'. -#}
    {{ return('column ' ~ settings.ranges.column ~ ' of the key is ' ~ source_types[column] ~ ' in the batch and '
        ~ types[column] ~ ' in the table: merging without ranges; cast it in the model') }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- What the library is asked for where ranges are wanted on several columns; those that can have none are added to `warnings`. -#}
{% macro several_ranges_request(relation, settings, types, source_types, warnings) %}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set columns = [] -%}
  {%- for column in settings.ranges.columns -%}
    {%- set type = types[column | lower] -%}
    {%- if not alluvium.can_range(type) -%}
      {%- do warnings.append(relation.identifier ~ ': column ' ~ column ~ ' is ' ~ type ~ ', a type without ranges: merging without them') -%}
    {%- elif column | lower not in keys or type == source_types[column | lower] -%}
      {%- do columns.append(column) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return({
      'columns': columns,
      'keys': settings.unique_key,
      'max_ranges': settings.ranges.max_ranges,
      'table': relation.render(),
      'alias': 'DBT_INTERNAL_DEST',
  }) }}
{% endmacro %}


{#- What the library is asked to plan. table: the merged table, none before it exists. -#}
{% macro range_request(settings, table) %}
  {{ return({
      'column': settings.ranges.column,
      'method': settings.ranges.method,
      'k': settings.ranges.k,
      'max_ranges': settings.ranges.max_ranges,
      'engine': settings.ranges.engine,
      'or_null': alluvium.reads_nulls(settings),
      'table': table.render() if table is not none else none,
  }) }}
{% endmacro %}


{#- The request that a merge makes of the Python model with this unique id; none where no merge names it. -#}
{% macro range_request_of(planner) %}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and 'alluvium_merge' in (node.config.get('meta') or {}) -%}
    {%- set settings = alluvium.merge_settings(node) -%}
    {%- set given = node.config.meta.alluvium_merge.get('ranges') or {} -%}
    {%- if given is mapping and alluvium.models_named(given.get('model')) | map(attribute='unique_id') | list == [planner] -%}
      {%- if not settings.ranges -%}{{ return({'column': given.column, 'method': 'none'}) }}{%- endif -%}
      {%- set relation = alluvium.existing_relation(node) -%}
      {%- set rebuilt = relation is none or relation.type != 'table' or alluvium.is_rebuilt(node) -%}
      {{ return(alluvium.range_request(settings, none if rebuilt else relation)) }}
    {%- endif -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}
