{#- The ranges' settings, or none with a warning where their column cannot have any. -#}
{% macro usable_ranges(node, settings, types, source_types) %}
  {%- if not settings.ranges -%}{{ return(none) }}{%- endif -%}
  {%- set column = settings.ranges.column | lower -%}
  {%- if not alluvium.can_range(types[column]) -%}
    {%- do exceptions.warn(alluvium.name_of(node) ~ ": column " ~ settings.ranges.column ~ " is " ~ types[column]
        ~ ", a type without ranges: merging without them") -%}
    {{ return(none) }}
  {%- elif column in settings.unique_key | map('lower') | list and types[column] != source_types[column] -%}
    {#- Another type compares otherwise: '01' is 1, but lies not between '1' and '1'. -#}
    {%- do exceptions.warn(alluvium.name_of(node) ~ ": column " ~ settings.ranges.column ~ " of the key is " ~ source_types[column]
        ~ " in the batch and " ~ types[column] ~ " in the table: merging without ranges; cast it in the model") -%}
    {{ return(none) }}
  {%- endif -%}
  {{ return(settings.ranges) }}
{% endmacro %}


{#- The planned ranges, if they hold every event; else, and where none are planned, what SQL can find. -#}
{% macro fitting_ranges(node, source, settings, types, profile, ranges, is_new) %}
  {%- set type = types[settings.ranges.column | lower] -%}
  {%- if ranges and not profile.outside -%}{{ return(ranges) }}{%- endif -%}
  {%- if ranges -%}
    {%- do exceptions.warn(alluvium.name_of(node) ~ ': ' ~ profile.outside ~ ' events lie outside the planned ranges of '
        ~ (settings.ranges.model or 'the merge') ~ ', which belong to another batch: using min_max') -%}
  {%- elif settings.ranges.method not in ('none', 'min_max') and not is_new -%}
    {#- A stock target has none of the methods that need the session. -#}
    {{ return(alluvium.merge_gaps(source, settings.ranges.column, type, settings.ranges.k)) }}
  {%- endif -%}
  {{ return([{
      'column_name': settings.ranges.column, 'column_type': type, 'method': 'min_max',
      'lo': alluvium.canonical_text(profile.get('lo'), type),
      'hi': alluvium.canonical_text(profile.get('hi'), type),
  }]) }}
{% endmacro %}


{#- Range rows of the session's own planning: those of the ranges model, priced on the table as it is
    now, or where there is no such model planned here. None on a stock target, and where the model's column has another
    type than the target's. -#}
{% macro planned_ranges(target, source, settings, types, is_new) %}
  {{ return(adapter.dispatch('planned_ranges', 'alluvium')(target, source, settings, types, is_new)) }}
{% endmacro %}

{% macro default__planned_ranges(target, source, settings, types, is_new) %}
  {{ return([]) }}
{% endmacro %}

{% macro alluvium__planned_ranges(target, source, settings, types, is_new) %}
  {%- set request = alluvium.range_request(settings, target) -%}
  {%- if not settings.ranges.model -%}
    {#- The profile has bounds, SQL has gaps; and a new table has nothing to leave unread. -#}
    {{ return([] if is_new or request.method in ('min_max', 'gaps') else adapter.plan_ranges(source.render(), request)) }}
  {%- endif -%}
  {%- set relation = alluvium.existing_relation(alluvium.find_model(settings.ranges.model, 'meta.alluvium_merge.ranges.model')) -%}
  {%- if relation is none -%}{{ return([]) }}{%- endif -%}
  {%- set column = settings.ranges.column | lower -%}
  {%- set usable = [] -%}
  {%- for row in alluvium.range_rows(relation.render()) -%}
    {%- if row.column_name | lower == column and row.column_type == types[column] -%}
      {%- do usable.append(row) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(adapter.reprice_ranges(usable, request)) }}
{% endmacro %}


{#- The cheapest predicate on several range columns: its `sql`, `ranges` and `method`. None for one column, and
    on a stock target, which takes the first one. -#}
{% macro planned_predicate(target, source, settings, types, source_types, is_new) %}
  {{ return(adapter.dispatch('planned_predicate', 'alluvium')(target, source, settings, types, source_types, is_new)) }}
{% endmacro %}

{% macro default__planned_predicate(target, source, settings, types, source_types, is_new) %}
  {{ return(none) }}
{% endmacro %}

{% macro alluvium__planned_predicate(target, source, settings, types, source_types, is_new) %}
  {%- if settings.ranges.columns | length < 2 -%}{{ return(none) }}{%- endif -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- set columns = [] -%}
  {%- for column in settings.ranges.columns -%}
    {%- set type = types[column | lower] -%}
    {%- if not alluvium.can_range(type) -%}
      {%- do exceptions.warn(target.identifier ~ ': column ' ~ column ~ ' is ' ~ type ~ ', a type without ranges: merging without them') -%}
    {%- elif column | lower not in keys or type == source_types[column | lower] -%}
      {%- do columns.append(column) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if is_new or not columns -%}{{ return({'sql': 'true', 'ranges': 0, 'method': 'none'}) }}{%- endif -%}
  {{ return(adapter.plan_predicate(source.render(), {
      'columns': columns,
      'keys': settings.unique_key,
      'max_ranges': settings.ranges.max_ranges,
      'table': target.render(),
      'alias': 'DBT_INTERNAL_DEST',
  })) }}
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
