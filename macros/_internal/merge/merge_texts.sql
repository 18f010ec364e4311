{#- SQL that looks at the batch: its `profile`; how many keys are deleted where events tie (`deletes`); ranges at the widest gaps
    (`gaps`); the columns that events lack (`lacked`). The last three are none where they cannot be needed.

    source: the batch; outline: what `_merge_outline` gives; ranges: rows that were planned; is_small: whether one task reads it. -#}
{% macro _merge_look(source, outline, ranges, is_small=false) %}
  {%- set settings = outline.settings -%}
  {%- set batch = alluvium._judged_batch(source, outline) -%}
  {%- set fit = alluvium._events_judged(batch, fit=true) if alluvium._judges(outline) else batch -%}
  {%- set taken = fit -%}
  {%- set fit = fit if settings.null_keys == 'match' else alluvium._events_by_key(fit, settings.unique_key, whole=true) -%}
  {%- set planned = alluvium.range_predicate(ranges, '__alluvium_value') if ranges else none -%}
  {%- set finds_gaps = settings.ranges and not ranges and settings.ranges.method not in ('none', 'min_max') -%}
  {{ return({
      'profile': alluvium._merge_profile_sql(
          batch, settings, outline.types, outline.box, planned, outline.controls, alluvium._judges(outline), is_small),
      'deletes': alluvium._winning_deletes_sql(fit, settings) if settings.delete_when is not none and settings.order_by else none,
      'gaps': alluvium._merge_gaps_sql(fit, settings.ranges.column, outline.types[settings.ranges.column | lower], settings.ranges.k)
              if finds_gaps else none,
      'lacked': alluvium._lacked_columns_sql(taken if settings.null_keys == 'insert' else fit, settings, outline.source_types.keys() | list)
                if settings.keep_by else none,
  }) }}
{% endmacro %}


{#- SQL of a merge whose batch was looked at. `predicate` is on the target, and `prune` the same for a query on the
    target alone. `verify` must find no row before `statement`. Where it finds keys for
    `verify: reject`, `marked` reads the batch with them marked: they are in the view `__alluvium_changed`. Statements keep `rejected` events in `rejected_table`:
    the first makes it.

    node: the merged model. relation: its table. profile: the figures of the batch. ranges: rows of ranges. written_by:
    `gaps` or `min_max` where SQL wrote their bounds. combined: what was planned on several columns, or none.
    predicates: the model's own, SQL or a list of SQL, or none. kept: what `_kept_columns` gives, none where no event says that it
    lacks anything. Gives `ranges` and `newest_event` as well, in the
    canonical form of bounds. -#}
{% macro _merge_texts(node, relation, source, outline, profile, ranges, written_by=none, combined=none, predicates=none, kept=none) %}
  {%- set settings = outline.settings -%}
  {%- if written_by is not none -%}
    {%- set column = settings.ranges.column -%}
    {%- set ranges = alluvium._ranges_of_texts(ranges, column, outline.types[column | lower], written_by) -%}
  {%- endif -%}
  {%- set predicate = alluvium._prune_predicate(settings, ranges, profile, outline.types, outline.box, combined) -%}
  {%- set rejected_table = alluvium._rejected_relation(relation) -%}
  {%- set names = alluvium._quote_names(outline.selected) -%}
  {%- set rejected = [] -%}
  {%- set events = alluvium._judged_batch(source, outline) -%}
  {%- if profile.rejects -%}
    {%- set events = alluvium._events_judged(events, fit=true) -%}
  {%- endif -%}
  {%- if profile.null_keys -%}
    {%- set without_key = alluvium._events_by_key(events, settings.unique_key, whole=false) -%}
    {%- set events = alluvium._events_by_key(events, settings.unique_key, whole=true) -%}
    {%- if settings.null_keys == 'reject' -%}
      {%- do rejected.append(alluvium._keep_rejected_sql(rejected_table, without_key, names)) -%}
    {%- endif -%}
  {%- endif -%}
  {%- if profile.rejects -%}
    {%- set as_written = alluvium._events_judged(alluvium._judged_batch(source, outline, raw=true), fit=false) -%}
    {%- do rejected.append(alluvium._keep_rejected_sql(rejected_table, as_written, names, '`__alluvium_reason`')) -%}
  {%- endif -%}
  {%- set own = [] -%}
  {%- for one in alluvium._as_list(predicates or none) -%}{%- do own.append('(' ~ one ~ ('\n' if '--' in one else '') ~ ')') -%}{%- endfor -%}
  {%- set columns = [] -%}
  {%- for column in outline.stored if column | lower in outline.source_types and column | lower != '_deleted' -%}
    {%- do columns.append(column) -%}
  {%- endfor -%}
  {{ return({
      'predicate': predicate,
      'prune': predicate | replace('DBT_INTERNAL_DEST.', '') if predicate else none,
      'statement': alluvium._merge_statement(
          relation.render(), events, settings, columns, alluvium._merge_updates(columns, node), predicate, own,
          profile.events > profile.key_count, without_key if settings.null_keys == 'insert' else none, profile.delete_events > 0, kept),
      'verify': alluvium._verify_merge_sql(relation, {'settings': settings, 'source': events, 'prune': predicate})
                if settings.verify and predicate else none,
      'marked': alluvium._marked_batch_sql(source, outline) if settings.verify == 'reject' else none,
      'rejected': [alluvium._create_rejected_sql(rejected_table)] + rejected if rejected else [],
      'rejected_table': rejected_table.identifier,
      'ranges': ranges,
      'newest_event': alluvium._canonical_text(profile.get('newest_event'), 'timestamp'),
  }) }}
{% endmacro %}


{#- Whether something says of an event that it may not be merged. -#}
{% macro _judges(outline) %}
  {{ return(outline.stored_keys | length + outline.settings.stored_order | length > 0 or outline.settings.reject_by is not none
      or '__alluvium_changed_range' in outline.source_types) }}
{% endmacro %}


{#- The batch as `_judged` gives it; as it is where nothing judges. -#}
{% macro _judged_batch(source, outline, raw=false) %}
  {%- if not alluvium._judges(outline) -%}{{ return(source) }}{%- endif -%}
  {{ return(alluvium._judged(source, outline.stored_keys, outline.settings.reject_by, raw=raw, order=outline.settings.stored_order,
      marked='__alluvium_changed_range' in outline.source_types,
      says_reason=(outline.source_types.get(outline.settings.reject_by | lower) or '')[:14] == 'struct<reason:')) }}
{% endmacro %}


{#- Columns that an update may set, by dbt's own merge_update_columns and merge_exclude_columns. An empty list allows none. -#}
{% macro _merge_updates(columns, node) %}
  {%- set only = node.config.get('merge_update_columns') -%}
  {%- set except = alluvium._column_names(node.config.get('merge_exclude_columns')) | map('lower') | list -%}
  {{ return(alluvium._column_names(only) if only is not none and only != '' else columns | map('lower') | reject('in', except) | list) }}
{% endmacro %}


{#- Subquery of the events whose key is whole, or of those with NULL in it. -#}
{% macro _events_by_key(source, unique_key, whole) %}
  {%- set present = [] -%}
  {%- for key in unique_key -%}{%- do present.append(alluvium._quote_name(key) ~ ' is not null') -%}{%- endfor -%}
  {{ return('(select * from ' ~ source ~ ' where ' ~ ('' if whole else 'not ') ~ '(' ~ present | join(' and ') ~ '))') }}
{% endmacro %}
