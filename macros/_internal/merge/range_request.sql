{#- Why the ranges' column cannot have any; none where it can. -#}
{% macro _range_obstacle(settings, types, source_types) %}
  {%- set column = settings.ranges.column | lower -%}
  {%- if not alluvium._can_range(types[column]) -%}
    {{ return('column ' ~ settings.ranges.column ~ ' is ' ~ types[column] ~ ', a type without ranges: merging without them') }}
  {%- elif column in settings.unique_key | map('lower') | list and types[column] != source_types[column] -%}
    {#- Another type compares otherwise: '01' is 1, but lies not between '1' and '1'. -#}
    {{ return('column ' ~ settings.ranges.column ~ ' of the key is ' ~ source_types[column] ~ ' in the batch and '
        ~ types[column] ~ ' in the table: merging without ranges; cast it in the model') }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}


{#- What the library is asked for where ranges are wanted on several columns; those that can have none are added to `warnings`. -#}
{% macro _several_ranges_request(relation, settings, types, source_types, warnings) %}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set columns = [] -%}
  {%- for column in settings.ranges.columns -%}
    {%- set type = types[column | lower] -%}
    {%- if not alluvium._can_range(type) -%}
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
{% macro _range_request(settings, table) %}
  {{ return({
      'column': settings.ranges.column,
      'method': settings.ranges.method,
      'k': settings.ranges.k,
      'max_ranges': settings.ranges.max_ranges,
      'engine': settings.ranges.engine,
      'or_null': alluvium._reads_nulls(settings),
      'table': table.render() if table is not none else none,
  }) }}
{% endmacro %}


{#- The request that a merge makes of the Python model with this unique id; none where no merge names it. -#}
{% macro _range_request_of(planner) %}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and 'alluvium_merge' in (node.config.get('meta') or {}) -%}
    {%- set settings = alluvium._merge_settings(node) -%}
    {%- set given = node.config.meta.alluvium_merge.get('ranges') or {} -%}
    {%- if given is mapping and alluvium._models_named(given.get('model')) | map(attribute='unique_id') | list == [planner] -%}
      {%- if not settings.ranges -%}{{ return({'column': given.column, 'method': 'none'}) }}{%- endif -%}
      {%- set relation = alluvium._existing_relation(node) -%}
      {%- set rebuilt = relation is none or relation.type != 'table' or alluvium._is_rebuilt(node) -%}
      {{ return(alluvium._range_request(settings, none if rebuilt else relation)) }}
    {%- endif -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}
