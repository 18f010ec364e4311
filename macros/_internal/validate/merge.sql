{#- Mistakes in a model's `meta.alluvium_merge`, and in what dbt's own settings say beside it. -#}
{% macro _validate_merge(node, block, mistakes) %}
  {%- set where = node.name ~ ': meta.alluvium_merge' -%}
  {%- set schema = alluvium._settings_schema().model.alluvium_merge -%}
  {%- do mistakes.extend(alluvium._schema_mistakes(where, block, schema)) -%}
  {%- if block is not mapping -%}{{ return('') }}{%- endif -%}
  {#- What the values mean to each other is asked of those that are right. -#}
  {%- set given = alluvium._right_values(where, block, schema) -%}

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
  {%- if given.get('keep_by') is not none -%}
    {%- if given.get('on_match') == 'ignore' -%}
      {%- do mistakes.append(where ~ '.keep_by: a merge with on_match: ignore never changes a row; accepted: on_match: update') -%}
    {%- endif -%}
    {%- if not block.get('order_by') -%}
      {%- do mistakes.append(where ~ '.keep_by: nothing says which event comes before another; accepted: with order_by') -%}
    {%- endif -%}
    {%- set named = alluvium._column_names(config.get('unique_key')) + alluvium._column_names(given.get('order_by')) + alluvium._column_names(given.get('reject_by')) -%}
    {%- if alluvium._bare(given.keep_by) | lower in named | map('lower') -%}
      {%- do mistakes.append(where ~ '.keep_by: ' ~ given.keep_by ~ ' is named by unique_key, order_by or reject_by as well; accepted: a column of its own') -%}
    {%- endif -%}
  {%- endif -%}
  {%- if block.get('delete') is not none and block.get('delete_when') is none -%}
    {%- do mistakes.append(where ~ '.delete: nothing is deleted without delete_when; accepted: both or neither') -%}
  {%- endif -%}

  {#- A `delete` that is neither is told already. -#}
  {%- if given.get('tombstone_time') is not none and not alluvium._keeps_tombstones(block) and ('delete' in given or block.get('delete') is none) -%}
    {%- do mistakes.append(where ~ '.tombstone_time: nothing keeps tombstones; accepted: with delete_when and delete: soft') -%}
  {%- elif given.get('tombstone_time') is string and ('order_by' in given or 'order_by' not in block) -%}
    {#- A delete changes no other column of a row that exists: the tombstone would be as old as that row. -#}
    {%- set order = alluvium._column_names(given.get('order_by')) -%}
    {%- if not order | map('lower') | select('in', given.tombstone_time | lower) | list -%}
      {%- do mistakes.append(where ~ '.tombstone_time: a delete sets the columns of order_by alone; accepted: SQL over them (' ~ order | join(', ') ~ ')') -%}
    {%- endif -%}
  {%- endif -%}
  {%- if given.get('null_keys') == 'insert' and block.get('delete_when') is not none -%}
    {%- do mistakes.append(where ~ '.null_keys: insert adds every event with NULL in the key as a row, and a delete is none; accepted: reject, match') -%}
  {%- endif -%}

  {%- set ranges = given.get('ranges') -%}
  {%- if given.get('verify') == 'reject' and target.type != 'alluvium' -%}
    {%- do mistakes.append(where ~ '.verify: reject works on alluvium targets only; accepted on a ' ~ target.type ~ ' target: true, false') -%}
  {%- elif given.get('verify') in (true, 'reject') and ('ranges' in given or 'ranges' not in block)
         and (not ranges or ranges.get('method') == 'none') -%}
    {%- do mistakes.append(where ~ '.verify: without ranges nothing is promised that could be wrong; accepted: with ranges, or without verify') -%}
  {%- endif -%}
  {%- if ranges is not mapping -%}{{ return('') }}{%- endif -%}
  {%- if not block.ranges.get('column') -%}
    {%- do mistakes.append(where ~ '.ranges: column is missing; accepted: a column whose value never changes for a key') -%}
  {%- endif -%}
  {%- set several = alluvium._as_list(ranges.get('column')) | length > 1 -%}
  {%- if alluvium._as_list(ranges.get('column')) | length > 4 -%}
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
    {%- set planners = alluvium._models_named(ranges.model) -%}
    {%- if planners | length != 1 -%}
      {%- do mistakes.append(where ~ '.ranges.model: ' ~ alluvium._naming_mistake(ranges.model, planners)) -%}
    {%- elif planners[0].unique_id not in node.depends_on.nodes -%}
      {%- do mistakes.append(where ~ '.ranges.model: nothing makes ' ~ ranges.model ~ ' run before this model; add `-- depends_on: {{ '
          ~ alluvium._ref_of(planners[0]) ~ ' }}` to it') -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{#- An event with the key only has no value for another column. Its tombstone lands in the partition NULL, apart from
    the row. No partition can be skipped for it. -#}
{% macro _warn_partition(node) %}
  {%- set settings = alluvium._merge_settings(node) -%}
  {%- set keys = settings.unique_key | map('lower') | list -%}
  {%- if settings.delete_when is not none -%}
    {%- set partition_by = alluvium._column_names(node.config.get('partition_by')) -%}
    {#- The adapter partitions by a column that it makes of this one. -#}
    {%- set bucket_by = ((node.config.get('meta') or {}).get('alluvium_layout') or {}).get('bucket_by') or {} -%}
    {%- set source = alluvium._bare(bucket_by.column) if bucket_by and target.type == 'alluvium' else none -%}
    {%- set named = partition_by | map('lower') | list -%}
    {%- if source and source | lower not in named and alluvium._generated_column_name(source, bucket_by.window) | lower not in named -%}
      {%- set partition_by = partition_by + [source] -%}
    {%- endif -%}
    {%- for column in partition_by if column | lower not in keys -%}
      {%- do exceptions.warn(node.name ~ ': partitioned by ' ~ column ~ ', which is not in unique_key. An event that deletes by key alone'
          ~ ' does not say the partition. Its merge looks at every partition, and its tombstone lies in the partition NULL;'
          ~ ' accepted: a partition by a column of the key, or deletes that carry ' ~ column ~ '.') -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
