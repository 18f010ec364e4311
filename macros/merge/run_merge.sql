{#- Merge `source` into `target` with progress and figures in the merge's own commit. Gives the
    figures, and the statement under `sql`. -#}
{% macro run_merge(target, source, predicates=none, is_new=false) %}
  {%- set started = modules.datetime.datetime.now() -%}
  {%- set attempt = alluvium.merge_attempt(target, source, predicates, is_new) -%}
  {%- set figures = attempt.figures -%}
  {%- if not attempt.pending -%}
    {%- do figures.update({'affected': 0, 'sql': '-- nothing new'}) -%}
  {%- else -%}
    {%- set figures = alluvium.execute_merge(target, attempt, [target, source, predicates, is_new]) -%}
  {%- endif -%}
  {%- do figures.update({'seconds': (modules.datetime.datetime.now() - started).total_seconds()}) -%}
  {%- do figures.update({'rejected_table': alluvium.rejected_relation(target).identifier if figures.rejected else none}) -%}
  {%- do figures.update(alluvium.bronze_freshness(target, figures.newest_event)) -%}
  {%- do log(alluvium.merge_line(alluvium.name_of(model), figures), info=true) -%}
  {{ return(figures) }}
{% endmacro %}


{#- How far the merge has come beside the streaming table that its events come from. Stock targets do not look. -#}
{% macro bronze_freshness(target, newest_event) %}
  {{ return(adapter.dispatch('bronze_freshness', 'alluvium')(target, newest_event)) }}
{% endmacro %}

{% macro default__bronze_freshness(target, newest_event) %}
  {{ return({}) }}
{% endmacro %}

{% macro alluvium__bronze_freshness(target, newest_event) %}
  {{ return(adapter.freshness(target.render(), model.unique_id, newest_event)) }}
{% endmacro %}


{#- One try of a merge, planned on the table and the batch as they are now: its `sql` and `figures`, the progress that it
    records (`through`), and whether there is anything to do (`pending`). -#}
{% macro merge_attempt(target, source, predicates, is_new) %}
  {%- set plan = alluvium.merge_plan(target, source, model, is_new) -%}
  {%- set settings = plan.settings -%}
  {%- if settings.soft and '_deleted' not in plan.types -%}
    {%- do run_query('alter table ' ~ target.render() ~ ' add columns (`_deleted` boolean)') -%}
  {%- endif -%}
  {%- set figures = alluvium.merge_figures(plan) -%}
  {%- if plan.null_keys and settings.null_keys == 'reject' -%}
    {%- do alluvium.keep_rejected(target, plan.without_key, plan.selected) -%}
  {%- endif -%}
  {%- if plan.rejects -%}
    {%- do alluvium.keep_rejected(target, plan.rejected_events, plan.selected, '`__alluvium_reason`') -%}
  {%- endif -%}
  {%- if plan.pending and settings.verify -%}
    {%- do alluvium.verify_merge(target, plan) -%}
  {%- endif -%}
  {{ return({
      'sql': alluvium.planned_statement(target, plan, model, predicates),
      'figures': figures, 'through': plan.through, 'pending': plan.pending,
      'engine': settings.engine, 'table_id': plan.table_id, 'prune': alluvium.prune_on_target(plan.prune),
      'layout': (model.config.get('meta') or {}).get('alluvium_layout'), 'partition_by': model.config.get('partition_by'),
  }) }}
{% endmacro %}


{#- The MERGE of a plan. predicates: the model's own, SQL or a list of SQL, or none. -#}
{% macro planned_statement(target, plan, node, predicates) %}
  {%- set wrapped = [] -%}
  {%- for predicate in alluvium.as_list(predicates or none) -%}{%- do wrapped.append('(' ~ predicate ~ ')') -%}{%- endfor -%}
  {%- set columns = [] -%}
  {%- for column in plan.stored if column | lower in plan.source_types and column | lower != '_deleted' -%}
    {%- do columns.append(column) -%}
  {%- endfor -%}
  {{ return(alluvium.merge_statement(
      target.render(), plan.source, plan.settings, columns, alluvium.merge_updates(columns, node),
      plan.prune, wrapped, plan.profile.events > plan.profile.key_count,
      plan.without_key if plan.settings.null_keys == 'insert' else none,
      plan.profile.delete_events > 0
  )) }}
{% endmacro %}


{#- Columns that an update may set, by dbt's own merge_update_columns and merge_exclude_columns. An empty list allows none. -#}
{% macro merge_updates(columns, node) %}
  {%- set only = node.config.get('merge_update_columns') -%}
  {%- set except = alluvium.column_names(node.config.get('merge_exclude_columns')) | map('lower') | list -%}
  {{ return(alluvium.column_names(only) if only is not none and only != '' else columns | map('lower') | reject('in', except) | list) }}
{% endmacro %}


{% macro merge_figures(plan) %}
  {{ return({
      'model': model.unique_id,
      'through': plan.through,
      'events': plan.profile.events,
      'key_count': plan.profile.key_count,
      'deletes': plan.profile.deletes,
      'newest_event': alluvium.canonical_text(plan.profile.get('newest_event'), 'timestamp'),
      'on_match': plan.settings.on_match,
      'method': plan.method,
      'ranges': plan.range_count,
      'rejected': plan.rejects + (plan.null_keys if plan.settings.null_keys == 'reject' else 0),
  }) }}
{% endmacro %}


{#- Runs the statement with its progress in the same commit; gives the figures with `sql`, the rows it changed under
    `affected`, and on an alluvium target `files_written` and `bytes_written`. There a merge that other writers were faster
    than is planned anew (`again` are the arguments) and tried again. -#}
{% macro execute_merge(target, attempt, again) %}
  {{ return(adapter.dispatch('execute_merge', 'alluvium')(target, attempt, again)) }}
{% endmacro %}

{% macro alluvium__execute_merge(target, attempt, again) %}
  {%- do log('On ' ~ model.unique_id ~ ': ' ~ attempt.sql) -%}
  {{ return(adapter.run_merge(target.render(), model.unique_id, attempt, alluvium.merge_attempt, again)) }}
{% endmacro %}

{#- No `txn` action here: a failed statement would leave its SET to the session's next INSERT, which
    Delta then skips without a word. The commit's metadata harms nothing if it stays. -#}
{% macro default__execute_merge(target, attempt, again) %}
  {%- set metadata = dict(attempt.figures, table=attempt.table_id) -%}
  {%- do run_query('set spark.databricks.delta.commitInfo.userMetadata=' ~ tojson({'alluvium_merge': metadata}, sort_keys=true)) -%}
  {%- call statement('alluvium_merge', fetch_result=true, auto_begin=false) -%}{{ attempt.sql }}{%- endcall -%}
  {%- set rows = load_result('alluvium_merge').table.rows -%}
  {%- do run_query('reset spark.databricks.delta.commitInfo.userMetadata') -%}
  {%- set affected = rows[0]['num_affected_rows'] | int if rows else 0 -%}
  {%- do store_result('alluvium_merged', response=affected | string) -%}
  {{ return(dict(attempt.figures, affected=affected, sql=attempt.sql)) }}
{% endmacro %}
