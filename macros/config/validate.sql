{#- Checks `meta.alluvium_*` of every model and source, and what this invocation asks of them. Raises once, with every mistake. Runs no SQL. -#}
{% macro validate() %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set mistakes = [] -%}
  {%- set merged = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- do alluvium.validate_meta_names(node, meta, ['alluvium_layout', 'alluvium_merge', 'alluvium_tier'], mistakes) -%}
    {%- if 'alluvium_merge' in meta -%}
      {%- do merged.append(node) -%}
      {%- do alluvium.validate_merge(node, meta.alluvium_merge, mistakes) -%}
    {%- endif -%}
    {%- if 'alluvium_layout' in meta -%}
      {%- do alluvium.validate_layout_table(node, mistakes) -%}
      {%- if target.type != 'alluvium' -%}{%- do alluvium.validate_layout(node, meta.alluvium_layout, mistakes) -%}{%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for node in graph.sources.values() -%}
    {%- do alluvium.validate_meta_names(node, node.config.get('meta') or {}, ['alluvium_stream'], mistakes) -%}
  {%- endfor -%}
  {#- The adapter reads the streams and the layouts, so it knows what they accept. -#}
  {%- if target.type == 'alluvium' -%}
    {%- do mistakes.extend(adapter.stream_mistakes(graph.sources.values() | list)) -%}
    {%- do mistakes.extend(adapter.layout_mistakes(graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | list)) -%}
  {%- endif -%}
  {%- if merged -%}
    {%- do alluvium.validate_dispatch(mistakes) -%}
  {%- endif -%}
  {%- do alluvium.validate_backfill(mistakes) -%}
  {%- do alluvium.validate_tiers(mistakes) -%}
  {%- if not mistakes -%}
    {%- for node in merged -%}
      {%- do alluvium.validate_full_refresh(node, mistakes) -%}
      {%- do alluvium.warn_partition(node) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- if mistakes -%}
    {%- do exceptions.raise_compiler_error(
        mistakes | length ~ (' mistake' if mistakes | length == 1 else ' mistakes')
        ~ ' in the settings of alluvium, nothing was run:\n  - ' ~ mistakes | join('\n  - ')) -%}
  {%- endif -%}
  {{ return('') }}
{% endmacro %}


{% macro validate_meta_names(node, meta, accepted, mistakes) %}
  {%- for key in meta if key is string and key[:9] == 'alluvium_' and key not in accepted -%}
    {%- do mistakes.append(node.name ~ ': meta.' ~ key ~ ' is not known on a ' ~ node.resource_type
        ~ '; accepted: ' ~ accepted | join(', ')) -%}
  {%- endfor -%}
{% endmacro %}


{#- One mapping: unknown keys, then each value by its rule. A rule is a list of accepted values, or
    the name of a shape. -#}
{% macro validate_mapping(where, given, rules, mistakes) %}
  {%- if given is not mapping -%}
    {%- do mistakes.append(where ~ ': ' ~ tojson(given, given | string) ~ ' is not a mapping; accepted keys: ' ~ rules | join(', ')) -%}
    {{ return(false) }}
  {%- endif -%}
  {%- for key, value in given.items() -%}
    {%- set rule = rules.get(key) -%}
    {%- set shown = where ~ '.' ~ key ~ ': ' ~ tojson(value, value | string) -%}
    {%- if rule is none -%}
      {%- do mistakes.append(where ~ ': unknown key ' ~ key ~ '; accepted: ' ~ rules | join(', ')) -%}
    {%- elif rule is sequence and rule is not string -%}
      {%- if value not in rule -%}
        {%- do mistakes.append(shown ~ ' is not accepted; accepted: ' ~ rule | join(', ')) -%}
      {%- endif -%}
    {%- elif rule == 'text' and (value is not string or not value | trim) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a text') -%}
    {%- elif rule == 'columns' and not alluvium.is_column_list(value) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a column, or a list of columns') -%}
    {%- elif rule == 'mapping' and value is not mapping -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a mapping') -%}
    {%- elif rule == 'number' and (value is boolean or value is not integer or value < 0) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a whole number') -%}
    {%- elif rule == 'moment' and not alluvium.is_moment(value) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a date, or a date and time in UTC (2024-01-31 18:00)') -%}
    {%- elif rule == 'duration' and not alluvium.is_duration(value) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a number of minutes, hours, days or weeks, such as 15 minutes') -%}
    {%- elif rule == 'quiet_after' and value != 'auto' and not alluvium.is_duration(value) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: auto, or a number of minutes, hours, days or weeks, such as 6 hours') -%}
    {%- elif rule == 'size' and alluvium.size_in_bytes(value) is none -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: bytes, such as 134217728, 128 MiB or 1 GiB') -%}
    {%- elif rule == 'fan_in' and (value is boolean or value is not integer or value < 2 or value > 1000) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a whole number from 2 to 1000') -%}
    {%- elif rule == 'flag' and value is not boolean -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: true, false') -%}
    {%- elif rule == 'count' and (value is boolean or value is not integer or value < 1 or value > 256) -%}
      {%- do mistakes.append(shown ~ ' is not accepted; accepted: a whole number from 1 to 256') -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(true) }}
{% endmacro %}


{#- A day of the calendar, and maybe a time of it. -#}
{% macro is_moment(value) %}
  {%- set found = modules.re.fullmatch('([0-9]{4})-([0-9]{2})-([0-9]{2})([ T]([0-9]{2}):([0-9]{2})(:([0-9]{2}))?)?', value | string) -%}
  {%- if not found -%}{{ return(false) }}{%- endif -%}
  {%- set year, month, day = found[1] | int, found[2] | int, found[3] | int -%}
  {%- if year < 1 or month < 1 or month > 12 -%}{{ return(false) }}{%- endif -%}
  {%- set last = 31 if month == 12 else (modules.datetime.date(year, month + 1, 1) - modules.datetime.timedelta(days=1)).day -%}
  {{ return(1 <= day <= last and (found[5] or 0) | int < 24 and (found[6] or 0) | int < 60 and (found[8] or 0) | int < 60) }}
{% endmacro %}


{% macro is_column_list(value) %}
  {%- if value is string -%}{{ return(value | trim | length > 0) }}{%- endif -%}
  {%- if value is mapping or value is not sequence or not value -%}{{ return(false) }}{%- endif -%}
  {{ return(value | reject('string') | list | length == 0) }}
{% endmacro %}


{% macro validate_merge(node, given, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_merge' -%}
  {%- set methods = ['none', 'min_max', 'gaps', 'kmeans', 'cover', 'auto'] -%}
  {%- if not alluvium.validate_mapping(where, given, {
      'order_by': 'columns',
      'delete_when': 'text',
      'on_match': ['update', 'ignore'],
      'delete': ['soft', 'hard'],
      'null_keys': ['reject', 'match', 'insert'],
      'engine': ['auto', 'merge_into'],
      'verify': 'flag',
      'tombstone_time': 'text',
      'ranges': 'any',
  }, mistakes) -%}{{ return('') }}{%- endif -%}

  {%- set config = node.config -%}
  {%- if config.get('materialized') != 'incremental' -%}
    {%- do mistakes.append(where ~ ': the model is materialized as ' ~ config.get('materialized') ~ '; accepted: incremental') -%}
  {%- endif -%}
  {%- if (config.get('incremental_strategy') or 'merge') != 'merge' or (target.type != 'alluvium' and not config.get('incremental_strategy')) -%}
    {%- do mistakes.append(where ~ ': incremental_strategy is ' ~ (config.get('incremental_strategy') or 'not set') ~ '; accepted: merge') -%}
  {%- endif -%}
  {%- if (config.get('file_format') or 'delta') != 'delta' -%}
    {%- do mistakes.append(where ~ ': file_format is ' ~ config.get('file_format') ~ '; accepted: delta') -%}
  {%- endif -%}
  {%- if not config.get('unique_key') -%}
    {%- do mistakes.append(where ~ ': the model has no unique_key; accepted: a column, or a list of columns') -%}
  {%- endif -%}
  {%- if config.get('merge_update_columns') and config.get('merge_exclude_columns') -%}
    {%- do mistakes.append(node.name ~ ': merge_update_columns and merge_exclude_columns are both set; accepted: one of them') -%}
  {%- endif -%}
  {%- if given.get('on_match') == 'ignore' and given.get('delete_when') is not none -%}
    {%- do mistakes.append(where ~ '.delete_when: a merge with on_match: ignore never changes a row; accepted: on_match: update') -%}
  {%- endif -%}
  {%- if given.get('delete') is not none and given.get('delete_when') is none -%}
    {%- do mistakes.append(where ~ '.delete: nothing is deleted without delete_when; accepted: both or neither') -%}
  {%- endif -%}

  {%- if given.get('tombstone_time') is not none and not alluvium.merge_settings(node).soft -%}
    {%- do mistakes.append(where ~ '.tombstone_time: nothing keeps tombstones; accepted: with delete_when and delete: soft') -%}
  {%- endif -%}
  {%- if given.get('null_keys') == 'insert' and given.get('delete_when') is not none -%}
    {%- do mistakes.append(where ~ '.null_keys: insert adds every event with NULL in the key as a row, and a delete is none; accepted: reject, match') -%}
  {%- endif -%}

  {%- if given.get('verify') is sameas true and not alluvium.merge_settings(node).ranges -%}
    {%- do mistakes.append(where ~ '.verify: without ranges nothing is promised that could be wrong; accepted: with ranges') -%}
  {%- endif -%}

  {%- set ranges = given.get('ranges') -%}
  {%- if ranges is none or ranges is sameas false -%}{{ return('') }}{%- endif -%}
  {%- if not alluvium.validate_mapping(where ~ '.ranges', ranges, {
      'column': 'columns', 'method': methods, 'k': 'count', 'max_ranges': 'count',
      'engine': ['sklearn', 'spark_ml'], 'model': 'text',
  }, mistakes) -%}{{ return('') }}{%- endif -%}
  {%- if not ranges.get('column') -%}
    {%- do mistakes.append(where ~ '.ranges: column is missing; accepted: a column whose value never changes for a key') -%}
  {%- endif -%}
  {%- set several = alluvium.as_list(ranges.get('column')) | length > 1 -%}
  {%- if alluvium.as_list(ranges.get('column')) | length > 4 -%}
    {%- do mistakes.append(where ~ '.ranges.column: ' ~ ranges.column | length ~ ' columns, whose every order is priced; accepted: at most 4') -%}
  {%- endif -%}
  {%- if several and ranges.get('method') != 'auto' -%}
    {%- do mistakes.append(where ~ '.ranges.method: ' ~ (ranges.get('method') or 'min_max') ~ ' looks at one column; accepted for several: auto') -%}
  {%- endif -%}
  {%- if ranges.get('k') is not none and ranges.get('method') == 'auto' -%}
    {%- do mistakes.append(where ~ '.ranges.k: auto finds the number of ranges itself; accepted: max_ranges') -%}
  {%- elif ranges.get('k') is not none and ranges.get('method', 'min_max') in ['none', 'min_max'] -%}
    {%- do mistakes.append(where ~ '.ranges.k: ' ~ ranges.get('method', 'min_max') ~ ' has no number of ranges; accepted: with method: gaps, kmeans, cover') -%}
  {%- endif -%}
  {%- if ranges.get('max_ranges') is not none and ranges.get('method') != 'auto' -%}
    {%- do mistakes.append(where ~ '.ranges.max_ranges: only auto finds the number of ranges itself; accepted: k') -%}
  {%- elif ranges.get('engine') is not none and ranges.get('method') != 'kmeans' -%}
    {%- do mistakes.append(where ~ '.ranges.engine: only kmeans is fitted; accepted: with method: kmeans') -%}
  {%- endif -%}
  {%- if several and ranges.get('model') is not none -%}
    {%- do mistakes.append(where ~ '.ranges.model: several columns are planned by the merge itself; accepted: without model') -%}
  {%- elif ranges.get('model') is string and target.type == 'alluvium' -%}
    {%- set planners = alluvium.models_named(ranges.model) -%}
    {%- if planners | length != 1 -%}
      {%- do mistakes.append(where ~ '.ranges.model: ' ~ alluvium.naming_mistake(ranges.model, planners)) -%}
    {%- elif planners[0].unique_id not in node.depends_on.nodes -%}
      {%- do mistakes.append(where ~ '.ranges.model: nothing makes ' ~ ranges.model ~ ' run before this model; add `-- depends_on: {{ '
          ~ alluvium.ref_of(planners[0]) ~ ' }}` to it') -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- A rebuild has to read all events again. Where another model stages them, that model has to be
    built in the same invocation, else the table would be rebuilt from the last batch alone. -#}
{% macro validate_full_refresh(node, mistakes) %}
  {%- if alluvium.is_rebuilt(node) -%}
    {%- for parent in alluvium.batch_models(node) if parent.unique_id not in selected_resources -%}
      {%- do mistakes.append(alluvium.name_of(node) ~ ': a full refresh reads all events again, and ' ~ alluvium.name_of(parent)
          ~ ', which stages them, is not selected; select both: --select ' ~ alluvium.selector_of(parent) ~ '+') -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#- The models upstream that call `alluvium.new_events` for this one and keep the rows. -#}
{% macro batch_models(node) %}
  {%- set found = [] -%}
  {%- for parent in alluvium.upstream_models(node) -%}
    {%- if 'macro.alluvium.new_events' in parent.depends_on.macros and parent.config.materialized != 'ephemeral'
           and alluvium.is_named_by(node, parent, 'new_events[^}]*') -%}
      {%- do found.append(parent) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{% macro upstream_models(node) %}
  {%- set found = [] -%}
  {%- set queue = node.depends_on.nodes | list -%}
  {%- set seen = [] -%}
  {%- for step in range(graph.nodes | length) if queue -%}
    {%- set parent = graph.nodes.get(queue.pop()) -%}
    {%- if parent and parent.resource_type == 'model' and parent.unique_id not in seen -%}
      {%- do seen.append(parent.unique_id) -%}
      {%- do queue.extend(parent.depends_on.nodes | reject('in', seen) | list) -%}
      {%- do found.append(parent) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}


{#- An event with the key only has no value for another column: its tombstone lands in the partition
    NULL, apart from the row, and no partition can be skipped for it. -#}
{% macro warn_partition(node) %}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- if settings.delete_when is not none -%}
    {%- set partition_by = alluvium.as_list(node.config.get('partition_by')) -%}
    {#- The adapter partitions by a column that it makes of this one. -#}
    {%- set bucket_by = ((node.config.get('meta') or {}).get('alluvium_layout') or {}).get('bucket_by') or {} -%}
    {%- set source = bucket_by.column if bucket_by and target.type == 'alluvium' else none -%}
    {%- set named = partition_by | map('lower') | list -%}
    {%- if source and source | lower not in named and (source ~ '_' ~ bucket_by.window) | lower not in named -%}
      {%- set partition_by = partition_by + [source] -%}
    {%- endif -%}
    {%- for column in partition_by if column | lower not in keys -%}
      {%- do exceptions.warn(node.name ~ ': partitioned by ' ~ column ~ ', which is not in unique_key. An event that deletes by key alone'
          ~ ' does not say the partition: its merge looks at every partition, and its tombstone lies in the partition NULL.'
          ~ ' Partition by a column of the key, or let deletes carry ' ~ column ~ '.') -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#- On stock targets a macro of another package wins unless the root project dispatches to ours. -#}
{% macro validate_dispatch(mistakes) %}
  {%- if target.type == 'alluvium' -%}{{ return('') }}{%- endif -%}
  {#- dbt reads the names when it parses: they have to stand here as they are. -#}
  {%- set winners = {
      'get_merge_sql': adapter.dispatch('get_merge_sql', 'dbt').macro.package_name,
      'create_table_as': adapter.dispatch('create_table_as', 'dbt').macro.package_name,
  } -%}
  {%- for name, winner in winners.items() -%}
    {%- if winner != 'alluvium' and winner[:3] == 'dbt' -%}
      {%- do mistakes.append('dispatch: ' ~ name ~ ' is taken from ' ~ winner
          ~ ', which knows nothing of meta.alluvium_merge; accepted: in dbt_project.yml `dispatch:` with'
          ~ ' macro_namespace: dbt and search_order: [' ~ project_name ~ ', alluvium, dbt]') -%}
    {%- elif winner != 'alluvium' -%}
      {%- do exceptions.warn('dispatch: ' ~ name ~ ' is taken from package ' ~ winner
          ~ '. meta.alluvium_merge works only if that macro calls the one of alluvium.') -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
