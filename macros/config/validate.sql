{#- Checks every setting of ours over the whole project, and what this invocation asks of them. Raises once, with every mistake. Runs no SQL. -#}
{% macro validate() %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.check_arguments('validate', {}, kwargs) -%}
  {%- set mistakes = [] -%}
  {%- set merged = [] -%}
  {%- set schema = alluvium.settings_schema() -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- do alluvium.validate_meta_names(node, meta, schema.model, mistakes) -%}
    {%- do alluvium.validate_columns(node, schema.config, mistakes) -%}
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
    {%- set meta = node.config.get('meta') or {} -%}
    {%- do alluvium.validate_meta_names(node, meta, schema.source, mistakes) -%}
    {%- if 'alluvium_stream' in meta and target.type != 'alluvium' -%}
      {%- do mistakes.extend(alluvium.schema_mistakes(
          'source ' ~ node.source_name ~ '.' ~ node.name ~ ': meta.alluvium_stream', meta.alluvium_stream, schema.source.alluvium_stream)) -%}
    {%- endif -%}
  {%- endfor -%}
  {#- The adapter parses the streams and the layouts, with or without this package, and so knows what they accept. -#}
  {%- if target.type == 'alluvium' -%}
    {%- do mistakes.extend(adapter.stream_mistakes(graph.sources.values() | list)) -%}
    {%- do mistakes.extend(adapter.layout_mistakes(graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | list)) -%}
  {%- endif -%}
  {%- if merged -%}
    {%- do alluvium.validate_dispatch(mistakes) -%}
  {%- endif -%}
  {%- do alluvium.validate_vars(schema.var, mistakes) -%}
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


{#- Keys that nobody reads: those that begin as ours do are mistakes, those that are near to one of ours may be. -#}
{% macro validate_meta_names(node, meta, accepted, mistakes) %}
  {%- for key in meta if key not in accepted -%}
    {%- if key is string and key[:9] == 'alluvium_' -%}
      {%- do mistakes.append(node.name ~ ': meta.' ~ key ~ ' is not known on a ' ~ node.resource_type
          ~ '; accepted: ' ~ accepted | sort | join(', ') ~ alluvium.did_you_mean(key, accepted)) -%}
    {%- else -%}
      {%- do alluvium.warn_of_near_miss(node.name ~ ': meta.' ~ key, key, accepted) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for key in node.config if key in accepted -%}
    {%- do mistakes.append(node.name ~ ': ' ~ key ~ ' does not stand in meta, where it is looked for; accepted: meta: {' ~ key ~ ': …}') -%}
  {%- endfor -%}
{% endmacro %}


{% macro warn_of_near_miss(where, name, names) %}
  {%- set nearest = alluvium.nearest_name(name, names) -%}
  {%- if nearest -%}
    {%- do exceptions.warn(where ~ ' is not a setting of alluvium and changes nothing; did you mean ' ~ nearest ~ '?') -%}
  {%- endif -%}
{% endmacro %}


{#- The vars: their types, and names that nobody reads. dbt shows a stock target those of the command line alone. -#}
{% macro validate_vars(schema, mistakes) %}
  {%- set unset = '(not set)' -%}
  {%- for name, rule in schema.items() -%}
    {%- set value = var(name, unset) -%}
    {%- if value != unset -%}{%- do mistakes.extend(alluvium.schema_mistakes('var ' ~ name, value, rule)) -%}{%- endif -%}
  {%- endfor -%}
  {%- set given = adapter.given_vars() if target.type == 'alluvium' else invocation_args_dict.vars or {} -%}
  {%- for name in given if name not in schema -%}
    {%- if name is string and name[:9] == 'alluvium_' -%}
      {%- do mistakes.append('var ' ~ name ~ ' is not known; accepted: ' ~ schema | join(', ') ~ alluvium.did_you_mean(name, schema)) -%}
    {%- else -%}
      {%- do alluvium.warn_of_near_miss('var ' ~ name, name, schema) -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}


{#- dbt's own settings that name columns, or hold SQL: their types, and names that a contract does not have. Of an alluvium
    target's models, and of merged ones elsewhere. -#}
{% macro validate_columns(node, schema, mistakes) %}
  {%- set config = node.config -%}
  {%- if target.type != 'alluvium' and 'alluvium_merge' not in (config.get('meta') or {}) -%}{{ return('') }}{%- endif -%}
  {%- set named = {} -%}
  {%- for key, rule in schema.items() if config.get(key) -%}
    {%- set wrong = alluvium.schema_mistakes(node.name ~ ': ' ~ key, config[key], rule) -%}
    {%- do mistakes.extend(wrong) -%}
    {%- if not wrong and key not in ('predicates', 'incremental_predicates') -%}{%- do named.update({key: config[key]}) -%}{%- endif -%}
  {%- endfor -%}
  {%- if (config.get('contract') or {}).get('enforced') and config.get('materialized') == 'incremental' -%}
    {#- A layout partitions by a column that Delta makes, and Iceberg by what it makes of one. -#}
    {%- if 'alluvium_layout' in (config.get('meta') or {}) or (config.get('file_format') or 'delta') != 'delta' -%}
      {%- do named.pop('partition_by', none) -%}
    {%- endif -%}
    {%- set columns = [] -%}
    {%- for column in node.columns.values() -%}{%- do columns.append(alluvium.bare(column.name)) -%}{%- endfor -%}
    {%- for key, value in named.items() -%}
      {%- for name in alluvium.column_names(value) if name | lower not in columns | map('lower') -%}
        {%- do mistakes.append(node.name ~ ': ' ~ key ~ ': the contract has no column ' ~ name ~ '; accepted: '
            ~ columns | join(', ') ~ alluvium.did_you_mean(name, columns)) -%}
      {%- endfor -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{% macro validate_merge(node, block, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_merge' -%}
  {%- set schema = alluvium.settings_schema().model.alluvium_merge -%}
  {%- do mistakes.extend(alluvium.schema_mistakes(where, block, schema)) -%}
  {%- if block is not mapping -%}{{ return('') }}{%- endif -%}
  {#- What the values mean to each other is asked of those that are right. -#}
  {%- set given = alluvium.right_values(where, block, schema) -%}

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
  {%- if config.get('merge_update_columns') is not none and config.get('merge_exclude_columns') -%}
    {%- do mistakes.append(node.name ~ ': merge_update_columns and merge_exclude_columns are both set; accepted: one of them') -%}
  {%- endif -%}
  {%- if given.get('on_match') == 'ignore' and block.get('delete_when') is not none -%}
    {%- do mistakes.append(where ~ '.delete_when: a merge with on_match: ignore never changes a row; accepted: on_match: update') -%}
  {%- endif -%}
  {%- if block.get('delete') is not none and block.get('delete_when') is none -%}
    {%- do mistakes.append(where ~ '.delete: nothing is deleted without delete_when; accepted: both or neither') -%}
  {%- endif -%}

  {%- set soft = block.get('delete_when') is not none
      and (block.get('delete') or ('soft' if block.get('order_by') else 'hard')) != 'hard' -%}
  {%- if given.get('tombstone_time') is not none and not soft -%}
    {%- do mistakes.append(where ~ '.tombstone_time: nothing keeps tombstones; accepted: with delete_when and delete: soft') -%}
  {%- endif -%}
  {%- if given.get('null_keys') == 'insert' and block.get('delete_when') is not none -%}
    {%- do mistakes.append(where ~ '.null_keys: insert adds every event with NULL in the key as a row, and a delete is none; accepted: reject, match') -%}
  {%- endif -%}

  {%- set ranges = given.get('ranges') -%}
  {%- if given.get('verify') is sameas true and ('ranges' in given or 'ranges' not in block)
         and (not ranges or ranges.get('method') == 'none') -%}
    {%- do mistakes.append(where ~ '.verify: without ranges nothing is promised that could be wrong; accepted: with ranges') -%}
  {%- endif -%}
  {%- if ranges is not mapping -%}{{ return('') }}{%- endif -%}
  {%- if not block.ranges.get('column') -%}
    {%- do mistakes.append(where ~ '.ranges: column is missing; accepted: a column whose value never changes for a key') -%}
  {%- endif -%}
  {%- set several = alluvium.as_list(ranges.get('column')) | length > 1 -%}
  {%- if alluvium.as_list(ranges.get('column')) | length > 4 -%}
    {%- do mistakes.append(where ~ '.ranges.column: ' ~ ranges.column | length ~ ' columns, whose every order is priced; accepted: at most 4') -%}
  {%- endif -%}
  {%- if 'method' in ranges or 'method' not in block.ranges -%}
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


{#- A mapping less the values that are not as its schema says. -#}
{% macro right_values(where, block, schema) %}
  {%- set right = {} -%}
  {%- for key, value in block.items() if key in schema.properties -%}
    {%- set rule = schema.properties[key] -%}
    {%- if value is mapping and 'properties' in rule -%}
      {%- do right.update({key: alluvium.right_values(where, value, rule)}) -%}
    {%- elif not alluvium.schema_mistakes(where, value, rule) -%}
      {%- do right.update({key: value}) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(right) }}
{% endmacro %}


{#- A rebuild has to read all events again. Where another model stages them, that model has to be
    built in the same invocation, or before what `dbt retry` takes up, else the table would be rebuilt from the last batch
    alone. -#}
{% macro validate_full_refresh(node, mistakes) %}
  {%- if alluvium.is_retry() -%}
    {%- if target.type != 'alluvium' and alluvium.is_full_refresh(node) and alluvium.batch_models(node) -%}
      {%- do mistakes.append(alluvium.name_of(node) ~ ': a full refresh reads all events again, and on a ' ~ target.type
          ~ ' target dbt retry does not say what it runs; accepted: the command itself with --full-refresh --select ' ~ alluvium.selector_of(node)) -%}
    {%- endif -%}
  {%- elif alluvium.is_rebuilt(node) -%}
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
    {%- set partition_by = alluvium.column_names(node.config.get('partition_by')) -%}
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
