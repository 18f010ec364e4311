{#- What a merge of `source` into `target` would do: the settings, what the batch holds, and the
    predicate on the target. Runs queries, changes nothing. Raises where the batch is unfit. -#}
{% macro merge_plan(target, source, node, is_new=false) %}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- set table = alluvium.stored_table(target) -%}
  {%- set selected = adapter.get_columns_in_relation(source) -%}
  {%- set types = alluvium.types_of(table.columns) -%}
  {%- set source_types = alluvium.types_of(selected) -%}
  {%- set controls = ['_batch_through', '_batch_after'] | select('in', source_types) | list -%}
  {%- do alluvium.check_merge_columns(node, source, target, settings, source_types, types, table) -%}

  {%- set keys = alluvium.stored_keys(table, settings, types, source_types) -%}
  {%- if keys and settings.null_keys == 'match' -%}
    {#- Ranges are planned on the events: a key that the table stores as NULL would lie outside of them. -#}
    {%- do settings.update({'ranges': none}) -%}
  {%- endif -%}
  {%- set box = alluvium.bounded_keys(settings, types, source_types) -%}
  {%- set combined = alluvium.planned_predicate(target, source, settings, types, source_types, is_new) if settings.ranges else none -%}
  {%- do settings.update({'ranges': none if combined is not none else alluvium.usable_ranges(node, settings, types, source_types)}) -%}
  {%- set rows = alluvium.planned_ranges(target, source, settings, types, is_new) if settings.ranges else [] -%}
  {%- set ranges = rows | selectattr('lo', 'ne', none) | list -%}
  {#- A row without bounds: every range would cost more than it saves. -#}
  {%- set priced_out = rows and not ranges -%}
  {%- set planned = alluvium.range_predicate(ranges, '__alluvium_value') if ranges else none -%}
  {%- set order = alluvium.stored_order(table, settings, types, source_types) -%}
  {%- do settings.update({'stored_order': order}) -%}
  {%- set judges = keys | length + order | length > 0 or settings.reject_by is not none -%}
  {%- if judges -%}
    {%- set as_written = alluvium.judged(source, keys, settings.reject_by, raw=true, order=order) -%}
    {%- set rejected_events = alluvium.events_judged(as_written, fit=false) -%}
    {%- set source = alluvium.judged(source, keys, settings.reject_by, order=order) -%}
  {%- endif -%}
  {%- set profile = alluvium.merge_profile(source, settings, types, box, planned, controls, judged=judges) -%}
  {%- set recorded = none if is_new else alluvium.read_progress(target, node.unique_id, table.id) -%}
  {%- set progress = recorded if recorded is not none else -1 -%}
  {%- set through = profile.get('_batch_through') -%}
  {%- set after = profile.get('_batch_after') -%}

  {%- set rejects = profile.rejects -%}
  {%- if rejects -%}
    {%- set source = alluvium.events_judged(source, fit=true) -%}
  {%- endif -%}
  {%- set null_keys = profile.null_keys -%}
  {%- if null_keys -%}
    {%- set without_key = alluvium.events_by_key(source, settings.unique_key, whole=false) -%}
    {%- set source = alluvium.events_by_key(source, settings.unique_key, whole=true) -%}
  {%- endif -%}
  {%- if profile.tied -%}
    {#- The newest events of a key tie, and only some of them delete it: their content says which one wins. -#}
    {%- do profile.update({'deletes': run_query(alluvium.winning_deletes_sql(source, settings)).rows[0][0] | int}) -%}
  {%- endif -%}
  {%- do alluvium.check_batch(node, settings, profile, null_keys, after, progress) -%}
  {%- do alluvium.warn_of_order(node, settings, profile, types, source_types) -%}

  {%- if not settings.ranges or profile.get('lo') is none or priced_out -%}
    {%- set ranges = [] -%}
  {%- else -%}
    {%- set ranges = alluvium.fitting_ranges(node, source, settings, types, profile, ranges, is_new) -%}
  {%- endif -%}
  {%- set inserted = null_keys if settings.null_keys == 'insert' else 0 -%}
  {%- do profile.update({'events': profile.events + inserted, 'key_count': profile.key_count + inserted}) -%}

  {{ return({
      'source': source,
      'without_key': without_key,
      'rejected_events': rejected_events,
      'rejects': rejects,
      'null_keys': null_keys,
      'settings': settings,
      'stored': table.columns | map(attribute='name') | list,
      'selected': alluvium.event_columns(selected),
      'types': types,
      'source_types': source_types,
      'profile': profile,
      'progress': progress,
      'through': through,
      'ranges': ranges,
      'range_count': combined.ranges if combined is not none else ranges | length,
      'method': combined.method if combined is not none else (ranges[0].get('method') if ranges else 'none'),
      'prune': alluvium.prune_predicate(settings, ranges, profile, types, box, combined),
      'table_id': table.id,
      'pending': (profile.events > 0 and (through is none or through > progress))
                 or (null_keys + rejects > 0 and through is not none and through > progress),
  }) }}
{% endmacro %}


{#- Subquery of the events whose key is whole, or of those that lack a part of it. -#}
{% macro events_by_key(source, unique_key, whole) %}
  {%- set present = [] -%}
  {%- for key in unique_key -%}{%- do present.append(alluvium.quote_name(key) ~ ' is not null') -%}{%- endfor -%}
  {{ return('(select * from ' ~ source ~ ' where ' ~ ('' if whole else 'not ') ~ '(' ~ present | join(' and ') ~ '))') }}
{% endmacro %}


{#- Raises where the events cannot be merged: nothing says which is the newest, or the batch does not begin where the
    table's progress ends. -#}
{% macro check_batch(node, settings, profile, null_keys, after, progress) %}
  {%- if not settings.order_by and settings.on_match == 'update' and profile.events > profile.key_count -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': ' ~ profile.events ~ ' events for ' ~ profile.key_count
        ~ ' keys, and nothing says which is the newest. Set order_by in meta.alluvium_merge.') -%}
  {%- endif -%}
  {%- if profile.events -%}{%- do alluvium.check_start_of_batch(node, after, progress) -%}{%- endif -%}
  {%- if null_keys and settings.null_keys == 'insert' and after is not none and after < progress -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': the staged batch starts after event batch ' ~ after ~ ', but the table holds those up to '
        ~ progress ~ ', and null_keys: insert would add events without a key once more. Run the model that stages the batch again, together with this one.') -%}
  {%- endif -%}
{% endmacro %}


{#- Stops where events lie between what the table holds and what the batch begins with. -#}
{% macro check_start_of_batch(node, after, progress) %}
  {%- if after is not none and after > progress -%}
    {%- do exceptions.raise_compiler_error(node.name ~ ': the staged batch starts after event batch ' ~ after
        ~ ', but the table holds '
        ~ ('none yet' if progress < 0 else 'those up to ' ~ progress ~ ' only') ~ '. Run the model that stages the batch again, together with this one.') -%}
  {%- endif -%}
{% endmacro %}
