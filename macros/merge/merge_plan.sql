{#- What a merge of `source` into `target` would do: the settings, what the batch holds, and the
    predicate on the target. Runs queries, changes nothing. Raises where the batch is unfit. -#}
{% macro merge_plan(target, source, node, is_new=false) %}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- set types = alluvium.column_types(target) -%}
  {%- set source_types = alluvium.column_types(source) -%}
  {%- set controls = [] -%}
  {%- for control in ('_batch_through', '_batch_after') if control in source_types -%}
    {%- do controls.append(control) -%}
  {%- endfor -%}
  {%- do alluvium.check_merge_columns(target, node, settings, source_types, types) -%}

  {#- A key narrows the target only where both sides compare it
      as it is: a cast in the ON clause may match what bounds of another type exclude. -#}
  {%- set box = [] -%}
  {%- for key in settings.unique_key | map('lower') if settings.prunes and alluvium.can_range(types[key]) and types[key] == source_types[key] -%}
    {%- do box.append(key) -%}
  {%- endfor -%}
  {%- set combined = alluvium.planned_predicate(target, source, settings, types, source_types, is_new) if settings.ranges else none -%}
  {%- if combined is not none -%}{%- do settings.update({'ranges': none}) -%}{%- endif -%}
  {%- if settings.ranges and not alluvium.can_range(types[settings.ranges.column | lower]) -%}
    {%- do exceptions.warn(node.name ~ ": column " ~ settings.ranges.column ~ " is " ~ types[settings.ranges.column | lower]
        ~ ", a type without ranges: merging without them") -%}
    {%- do settings.update({'ranges': none}) -%}
  {%- elif settings.ranges and settings.ranges.column | lower in settings.unique_key | map('lower') | list
         and types[settings.ranges.column | lower] != source_types[settings.ranges.column | lower] -%}
    {#- Another type compares otherwise: '01' is 1, but lies not between '1' and '1'. -#}
    {%- do exceptions.warn(node.name ~ ": column " ~ settings.ranges.column ~ " of the key is " ~ source_types[settings.ranges.column | lower]
        ~ " in the batch and " ~ types[settings.ranges.column | lower] ~ " in the table: merging without ranges; cast it in the model") -%}
    {%- do settings.update({'ranges': none}) -%}
  {%- endif -%}

  {%- set rows = alluvium.planned_ranges(target, source, settings, types, is_new) if settings.ranges else [] -%}
  {%- set ranges = rows | selectattr('lo', 'ne', none) | list -%}
  {#- A row without bounds: every range would cost more than it saves. -#}
  {%- set priced_out = rows and not ranges -%}
  {%- set planned = alluvium.range_predicate(ranges, '__alluvium_value') if ranges else none -%}
  {%- set profile = alluvium.merge_profile(source, settings, types, box, planned, controls) -%}
  {%- set table_id = alluvium.table_id(target) -%}
  {%- set recorded = none if is_new else alluvium.read_progress(target, node.unique_id) -%}
  {%- set progress = recorded if recorded is not none else -1 -%}
  {%- set through = profile.get('_batch_through') -%}
  {%- set after = profile.get('_batch_after') -%}

  {%- set null_keys = profile.null_keys if settings.null_keys != 'match' else 0 -%}
  {%- if null_keys -%}
    {#- NULL equals nothing: such an event finds no row and needs no range. -#}
    {%- set without_key = alluvium.events_by_key(source, settings.unique_key, whole=false) -%}
    {%- set source = alluvium.events_by_key(source, settings.unique_key, whole=true) -%}
    {%- set profile = alluvium.merge_profile(source, settings, types, box, planned, []) -%}
  {%- endif -%}
  {%- if not settings.order_by and settings.on_match == 'update' and profile.events > profile.key_count -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ profile.events ~ ' events for ' ~ profile.key_count
        ~ ' keys, and nothing says which is the newest. Set order_by in meta.alluvium_merge.') -%}
  {%- endif -%}
  {%- if profile.events and after is not none and after > progress -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': the staged batch starts after event batch ' ~ after
        ~ ', but the table holds '
        ~ ('none yet' if progress < 0 else 'those up to ' ~ progress ~ ' only') ~ '. Run the model that stages the batch again, together with this one.') -%}
  {%- endif -%}

  {%- if null_keys and settings.null_keys == 'insert' and after is not none and after < progress -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': the staged batch starts after event batch ' ~ after ~ ', but the table holds those up to '
        ~ progress ~ ', and null_keys: insert would add events without a key once more. Run the model that stages the batch again, together with this one.') -%}
  {%- endif -%}

  {%- if settings.ranges and profile.get('lo') is not none and not priced_out -%}
    {%- if not ranges or profile.outside -%}
      {%- if ranges -%}
        {%- do exceptions.warn(node.name ~ ': ' ~ profile.outside ~ ' events lie outside the planned ranges of '
            ~ (settings.ranges.model or 'the merge') ~ ', which belong to another batch: using min_max') -%}
      {%- endif -%}
      {#- A stock target has none of the methods that need the session. -#}
      {%- set use_gaps = settings.ranges.method not in ('none', 'min_max') and not ranges and not is_new -%}
      {%- if use_gaps -%}
        {%- set ranges = alluvium.merge_gaps(source, settings.ranges.column, types[settings.ranges.column | lower], settings.ranges.k) -%}
      {%- else -%}
        {%- set ranges = [{
            'column_name': settings.ranges.column, 'column_type': types[settings.ranges.column | lower], 'method': 'min_max',
            'lo': alluvium.canonical_text(profile.get('lo'), types[settings.ranges.column | lower]),
            'hi': alluvium.canonical_text(profile.get('hi'), types[settings.ranges.column | lower]),
        }] -%}
      {%- endif -%}
    {%- endif -%}
  {%- else -%}
    {%- set ranges = [] -%}
  {%- endif -%}

  {%- set inserted = null_keys if settings.null_keys == 'insert' else 0 -%}
  {%- do profile.update({'events': profile.events + inserted, 'key_count': profile.key_count + inserted}) -%}

  {{ return({
      'source': source,
      'without_key': without_key,
      'null_keys': null_keys,
      'settings': settings,
      'types': types,
      'source_types': source_types,
      'profile': profile,
      'progress': progress,
      'through': through,
      'ranges': ranges,
      'range_count': combined.ranges if combined is not none else ranges | length,
      'method': combined.method if combined is not none else (ranges[0].get('method') if ranges else 'none'),
      'prune': alluvium.prune_predicate(settings, ranges, profile, types, box, combined),
      'table_id': table_id,
      'pending': (profile.events > 0 and (through is none or through > progress))
                 or (null_keys > 0 and through is not none and through > progress),
  }) }}
{% endmacro %}


{#- Subquery of the events whose key is whole, or of those that lack a part of it. -#}
{% macro events_by_key(source, unique_key, whole) %}
  {%- set present = [] -%}
  {%- for key in unique_key -%}{%- do present.append(alluvium.quote(key) ~ ' is not null') -%}{%- endfor -%}
  {{ return('(select * from ' ~ source ~ ' where ' ~ ('' if whole else 'not ') ~ '(' ~ present | join(' and ') ~ '))') }}
{% endmacro %}


{#- Predicate on the target that holds for every row that an event of the batch may match; none
    where nothing is known. Two things hold for such a row, and both are asked for: its key lies
    between the bounds of the batch's keys; and its range column lies in the ranges, or is NULL (a
    tombstone of an event that carried the key only), or the event lacks the column, and then the
    key lies between the bounds of the keys of such events. `combined`, planned on several columns, says
    the second by itself. -#}
{% macro prune_predicate(settings, ranges, profile, types, box, combined=none) %}
  {%- set terms = alluvium.key_bounds(settings, profile, types, box, 'key') -%}
  {%- if combined is not none and combined.sql != 'true' -%}{%- do terms.insert(0, combined.sql) -%}{%- endif -%}
  {%- if settings.ranges -%}
    {%- set column = alluvium.range_term(settings, ranges, profile, types, box) -%}
    {%- if column is not none -%}{%- do terms.insert(0, column) -%}{%- endif -%}
  {%- endif -%}
  {{ return('(' ~ terms | join(' and ') ~ ')' if terms else none) }}
{% endmacro %}


{% macro range_term(settings, ranges, profile, types, box) %}
  {%- set d = 'DBT_INTERNAL_DEST' -%}
  {%- set terms = [] -%}
  {%- if profile.get('lo') is not none -%}
    {%- set inside = alluvium.range_predicate(ranges, settings.ranges.column, d) -%}
    {%- if inside == 'true' or profile.get('unfit') -%}{{ return(none) }}{%- endif -%}
    {%- do terms.append(inside) -%}
    {%- if alluvium.reads_nulls(settings) -%}
      {%- do terms.append(d ~ '.' ~ alluvium.quote(settings.ranges.column) ~ ' is null') -%}
    {%- endif -%}
  {%- endif -%}
  {%- if profile.lacking -%}
    {%- set bounds = alluvium.key_bounds(settings, profile, types, box, 'lacking') -%}
    {%- if not bounds -%}{{ return(none) }}{%- endif -%}
    {%- do terms.append('(' ~ bounds | join(' and ') ~ ')') -%}
  {%- endif -%}
  {{ return('(' ~ terms | join(' or ') ~ ')' if terms else none) }}
{% endmacro %}


{#- For each key column that can, what its values lie between: those of all events (`key`), or of
    those that lack the range column (`lacking`). -#}
{% macro key_bounds(settings, profile, types, box, which) %}
  {%- set bounds = [] -%}
  {%- for key in settings.unique_key if key | lower in box -%}
    {%- set type = types[key | lower] -%}
    {%- set place = settings.unique_key.index(key) -%}
    {%- set row = {
        'column_type': type,
        'lo': alluvium.canonical_text(profile.get(which ~ place ~ '_lo'), type),
        'hi': alluvium.canonical_text(profile.get(which ~ place ~ '_hi'), type),
    } -%}
    {%- set within = alluvium.range_predicate([row], key, 'DBT_INTERNAL_DEST') -%}
    {%- if within != 'true' -%}
      {%- if settings.null_keys == 'match' -%}
        {%- set within = '(' ~ within ~ ' or DBT_INTERNAL_DEST.' ~ alluvium.quote(key) ~ ' is null)' -%}
      {%- endif -%}
      {%- do bounds.append(within) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(bounds) }}
{% endmacro %}


{#- Whether a row that lacks the range column may match: not where the column is of the key. -#}
{% macro reads_nulls(settings) %}
  {{ return(settings.null_keys == 'match' or settings.ranges.column | lower not in settings.unique_key | map('lower')) }}
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
  {%- set model_node = alluvium.find_model(settings.ranges.model) -%}
  {%- set relation = alluvium.existing_relation(model_node) if model_node else none -%}
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
  {%- for column in settings.ranges.columns | map('lower') -%}
    {%- if not alluvium.can_range(types[column]) -%}
      {%- do exceptions.warn(model.name ~ ': column ' ~ column ~ ' is ' ~ types[column] ~ ', a type without ranges: merging without them') -%}
    {%- elif column not in keys or types[column] == source_types[column] -%}
      {%- do columns.append(column) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if is_new or not columns -%}{{ return({'sql': 'true', 'ranges': 0, 'method': 'none'}) }}{%- endif -%}
  {{ return(adapter.plan_predicate(source.render(), {
      'columns': columns,
      'keys': keys,
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


{#- The request that a merge makes of the Python model of this name; none where no merge names it. -#}
{% macro range_request_of(planner) %}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' and 'alluvium_merge' in (node.config.get('meta') or {}) -%}
    {%- set settings = alluvium.merge_settings(node) -%}
    {%- set given = node.config.meta.alluvium_merge.get('ranges') or {} -%}
    {%- if given is mapping and given.get('model') == planner -%}
      {%- if not settings.ranges -%}{{ return({'column': given.column, 'method': 'none'}) }}{%- endif -%}
      {%- set relation = alluvium.existing_relation(node) -%}
      {%- set rebuilt = relation is none or relation.type != 'table' or alluvium.is_rebuilt(node) -%}
      {{ return(alluvium.range_request(settings, none if rebuilt else relation)) }}
    {%- endif -%}
  {%- endfor -%}
  {{ return(none) }}
{% endmacro %}


{#- Columns that Delta computes from others: no event carries them. Nobody can tell on a stock target. -#}
{% macro generated_columns(relation) %}
  {{ return(adapter.dispatch('generated_columns', 'alluvium')(relation)) }}
{% endmacro %}

{% macro default__generated_columns(relation) %}
  {{ return([]) }}
{% endmacro %}

{% macro alluvium__generated_columns(relation) %}
  {{ return(adapter.generated_columns(relation.render())) }}
{% endmacro %}


{% macro column_types(relation) %}
  {%- set types = {} -%}
  {%- for column in adapter.get_columns_in_relation(relation) -%}
    {%- do types.update({column.name | lower: column.dtype}) -%}
  {%- endfor -%}
  {{ return(types) }}
{% endmacro %}


{#- Columns that the settings name, by the setting. -#}
{% macro needed_columns(settings) %}
  {{ return({'unique_key': settings.unique_key, 'order_by': settings.order_by,
             'ranges.column': settings.ranges.columns if settings.ranges else []}) }}
{% endmacro %}


{% macro refuse_merge(node, mistakes) %}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ' cannot be merged:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
{% endmacro %}


{% macro check_merge_columns(target, node, settings, source_types, types) %}
  {%- set mistakes = [] -%}
  {%- for setting, columns in alluvium.needed_columns(settings).items() -%}
    {%- for column in columns -%}
      {%- if column | lower not in source_types -%}
        {%- do mistakes.append(setting ~ ': the model does not select ' ~ column) -%}
      {%- elif column | lower not in types -%}
        {%- do mistakes.append(setting ~ ': the table has no column ' ~ column ~ '; set on_schema_change or rebuild it') -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
  {%- if settings.soft and '_deleted' in source_types -%}
    {%- do mistakes.append('delete: soft keeps its own column _deleted, the model may not select one') -%}
  {%- endif -%}
  {%- if (node.config.get('on_schema_change') or 'ignore') == 'ignore' -%}
    {%- set missing = types | reject('in', source_types) | reject('eq', '_deleted') | list -%}
    {%- set generated = alluvium.generated_columns(target) | map('lower') | list if missing else [] -%}
    {%- for column in missing if column not in generated -%}
      {%- do mistakes.append('the model no longer selects ' ~ column ~ ', which the table has; set on_schema_change or rebuild it') -%}
    {%- endfor -%}
  {%- endif -%}
  {%- do alluvium.refuse_merge(node, mistakes) -%}
{% endmacro %}
