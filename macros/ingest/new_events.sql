{#- Subquery: the rows of bronze that are newer than the progress recorded in the merged model.

    events: relation of the bronze table, or of a view on it. merged: the merged model by a name that `_find_model`
    knows; its relation would be a cycle. bronze: the bronze table where `events` is a view or ephemeral. The newest batch is read
    from the table's statistics and not by running the view. at_most: events that a run takes, in whole batches and at least one;
    the rest comes with the next run. Adds `_batch_through` and `_batch_after`, the bounds of
    what was read: select both along, so the merge can record the one and check the other. In a unit test all given rows
    are new. -#}
{% macro new_events(events, merged, bronze=none, at_most=none) %}
  {%- if model.resource_type == 'unit_test' -%}
    {{ return('(select *, max(`_batch_id`) over () as `_batch_through`, -1L as `_batch_after` from ' ~ events ~ ')') }}
  {%- endif -%}
  {%- if at_most is not none and target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error('alluvium.new_events: at_most needs an alluvium target, for a ' ~ target.type ~ ' target keeps no progress of a batch that brings nothing') -%}
  {%- endif -%}
  {%- if at_most is not none and (at_most is not integer or at_most < 1) -%}
    {%- do exceptions.raise_compiler_error('alluvium.new_events: at_most: ' ~ tojson(at_most) ~ ' is not accepted; accepted: a whole number from 1, the events that a run takes') -%}
  {%- endif -%}
  {%- set ns = namespace(after=-1, through=-1, skipped='') -%}
  {%- set caller = alluvium._calling_model() -%}
  {%- set node = alluvium._find_model(merged, 'alluvium.new_events', caller) if execute else none -%}
  {%- if execute and node.config.materialized == 'incremental' and 'alluvium_merge' not in (node.config.get('meta') or {}) -%}
    {%- do exceptions.raise_compiler_error('alluvium.new_events: ' ~ alluvium._name_of(node) ~ ' has no meta.alluvium_merge, so nothing keeps its progress, '
        ~ 'and each run would add all events once more; accepted: an incremental model with meta.alluvium_merge') -%}
  {%- endif -%}
  {#- Its own progress would say nothing of what it reads. -#}
  {%- set own = graph.nodes.get(caller) if execute else none -%}
  {%- if own and own.unique_id != node.unique_id and own.config.materialized == 'incremental' and 'alluvium_merge' in (own.config.get('meta') or {}) -%}
    {%- do exceptions.raise_compiler_error('alluvium.new_events: ' ~ alluvium._name_of(own) ~ ' names ' ~ alluvium._name_of(node)
        ~ ', and would get the events that are new to that one; accepted: its own name') -%}
  {%- endif -%}
  {%- set backfill = alluvium._backfill(node) if execute else none -%}
  {#- `dbt compile --no-introspect` has no connection. -#}
  {%- if execute and flags.INTROSPECT is not sameas false -%}
    {#- Progress passes over what a filter leaves out, and no later run reads it. What `alluvium.at` gives is SQL, which may hold one. -#}
    {%- for read in [events, bronze or events] if read.event_time_filter or (read is string and (invocation_args_dict.sample or model.config.incremental_strategy == 'microbatch')) -%}
      {%- do exceptions.raise_compiler_error("alluvium.new_events: " ~ (read if read is string else read.render()) ~ " is filtered by event time (--sample, or a microbatch model). "
          ~ "A batch holds all events up to its progress: run without --sample, or take the config event_time from the model of bronze.") -%}
    {%- endfor -%}
    {%- if (bronze or events).is_cte -%}
      {%- do exceptions.raise_compiler_error('alluvium.new_events: ' ~ (bronze or events).identifier | replace('__dbt__cte__', '', 1)
          ~ ' is ephemeral, and its newest batch is looked up before the model runs; accepted: bronze=, the table that it reads') -%}
    {%- endif -%}
    {%- set ns.skipped = alluvium._skipped(node) -%}
    {%- if backfill -%}
      {%- if not flags.EMPTY -%}{%- do alluvium._check_backfill(node, bronze if events.is_cte else events, bronze or events) -%}{%- endif -%}
    {%- else -%}
      {%- set relation = alluvium._existing_relation(node) -%}
      {%- if relation is not none and relation.type == 'table' and not alluvium._is_rebuilt(node, caller) -%}
        {%- set progress = alluvium._read_progress(relation, node.unique_id, bronze=bronze or events) -%}
        {%- set ns.after = progress if progress is not none else -1 -%}
      {%- endif -%}
      {%- set newest = adapter.newest_batch(bronze or events) if target.type == 'alluvium' else none -%}
      {%- if newest is none -%}{%- set newest = run_query('select max(`_batch_id`) from ' ~ (bronze or events)).rows[0][0] -%}{%- endif -%}
      {#- Numbers that start again would be taken for batches that were merged long ago; but where the history of bronze proves that its newest
          batches were deleted, later ones have higher numbers all the same. -#}
      {%- if newest is not none and newest | int < ns.after
             and not (target.type == 'alluvium' and (bronze or events) is not string and adapter.once_had_batch(bronze or events, ns.after)) -%}
        {%- do exceptions.raise_compiler_error(alluvium._name_of(node) ~ ' has merged event batches up to ' ~ ns.after ~ ', but the newest in '
            ~ (bronze or events) ~ ' is ' ~ newest ~ '. That table was made again, and its events would be passed over. Run '
            ~ alluvium._name_of(node) ~ ' and the model that stages its batch with --full-refresh.') -%}
      {%- endif -%}
      {%- set there = newest -%}
      {%- if at_most is not none and newest is not none and newest | int > ns.after -%}
        {%- set newest = alluvium._bounded_batch(bronze or events, ns.after, there, at_most) -%}
      {%- endif -%}
      {%- if target.type == 'alluvium' and model.resource_type == 'model' -%}
        {%- set newest = adapter.one_batch(node.unique_id, alluvium._name_of(node), bronze or events, ns.after, newest, newest != there, caller) -%}
        {%- if ns.after >= 0 -%}{%- do adapter.note_bronze(relation.render(), node.unique_id, caller) -%}{%- endif -%}
      {%- endif -%}
      {%- set ns.through = [ns.after, (newest if newest is not none else -1) | int] | max -%}
    {%- endif -%}
  {%- endif -%}
{%- if backfill %}
(
    -- Merged before, so that it is neither progress nor a gap.
    select
        *,
        cast(null as bigint) as `_batch_through`,
        cast(null as bigint) as `_batch_after`
    from {{ events }}
    where {{ backfill }}{{ ns.skipped }}
)
{%- else %}
(
    select
        *,
        {{ ns.through }}L as `_batch_through`,
        {{ ns.after }}L as `_batch_after`
    from {{ events }}
    where `_batch_id` > {{ ns.after }}L and `_batch_id` <= {{ ns.through }}L{{ ns.skipped }}
)
{%- endif %}
{%- endmacro %}
