{#- Merge `source` into `relation` on a stock target, with progress and figures in the merge's own commit. Gives a statement
    that shows the figures. -#}
{% macro _run_merge(relation, source, predicates=none, is_new=false) %}
  {%- set started = modules.datetime.datetime.now() -%}
  {%- set plan = alluvium._merge_plan(relation, source, model, predicates, is_new) -%}
  {%- if plan.added -%}
    {%- do run_query('alter table ' ~ relation.render() ~ ' add columns (' ~ plan.added ~ ')') -%}
  {%- endif -%}
  {%- for sql in plan.rejected -%}{%- do run_query(sql) -%}{%- endfor -%}
  {#- The tests of this command look there, too. -#}
  {%- if plan.rejected -%}{%- do adapter.cache_added(alluvium._rejected_relation(relation)) -%}{%- endif -%}
  {%- if plan.pending and plan.verify -%}
    {%- set row = run_query(plan.verify).rows[0] -%}
    {%- set mistake = alluvium._verify_mistake(plan.settings, row['missed'] | int, row['example']) -%}
    {%- if mistake -%}{%- do exceptions.raise_compiler_error(model.name ~ ': ' ~ mistake) -%}{%- endif -%}
  {%- endif -%}
  {%- set figures = alluvium._merge_figures(model.unique_id, plan) -%}
  {%- if figures.rejected and not figures.events -%}
    {%- do exceptions.warn(alluvium._name_of(model) ~ ': ' ~ alluvium._rejected_warning(figures.rejected, plan.rejected_table)) -%}
  {%- endif -%}
  {%- set affected = alluvium._execute_merge(plan, figures) if plan.pending else 0 -%}
  {%- set done = dict(figures, affected=affected, is_pending=plan.pending, rejected_table=plan.rejected_table,
                      seconds=(modules.datetime.datetime.now() - started).total_seconds()) -%}
  {%- do log(alluvium._merge_line(alluvium._name_of(model), done), info=true) -%}
  {{ return('select ' ~ affected ~ ' as num_affected_rows, ' ~ figures.events ~ ' as num_events') }}
{% endmacro %}


{#- What is known of a merge before it runs, as its commit's metadata says it. -#}
{% macro _merge_figures(unique_id, plan) %}
  {{ return({
      'model': unique_id,
      'through': plan.through,
      'events': plan.profile.events,
      'key_count': plan.profile.key_count,
      'deletes': plan.profile.deletes,
      'newest_event': plan.newest_event,
      'on_match': plan.settings.on_match,
      'method': plan.method,
      'ranges': plan.ranges | length,
      'rejected': plan.profile.rejects + (plan.profile.null_keys if plan.settings.null_keys == 'reject' else 0),
  }) }}
{% endmacro %}


{#- Runs the statement; gives the rows that it changed. No `txn` action here: a failed statement would leave its SET to the session's
    next INSERT, which Delta then skips without a word. The commit's metadata harms nothing if it stays. -#}
{% macro _execute_merge(plan, figures) %}
  {%- set metadata = dict(figures, table=plan.table_id) -%}
  {%- do run_query('set spark.databricks.delta.commitInfo.userMetadata=' ~ tojson({'alluvium_merge': metadata}, sort_keys=true)) -%}
  {%- call statement('alluvium_merge', fetch_result=true, auto_begin=false) -%}{{ plan.statement }}{%- endcall -%}
  {%- set rows = load_result('alluvium_merge').table.rows -%}
  {%- do run_query('reset spark.databricks.delta.commitInfo.userMetadata') -%}
  {%- set affected = rows[0]['num_affected_rows'] | int if rows else 0 -%}
  {%- do store_result('alluvium_merged', response=affected | string) -%}
  {{ return(affected) }}
{% endmacro %}


{#- Why a merge with `verify: true` stops; none where it may go on. missed: rows of the table that it would not see. -#}
{% macro _verify_mistake(settings, missed, example) %}
  {%- if not missed -%}{{ return(none) }}{%- endif -%}
  {{ return(alluvium._counted(missed, 'row') ~ ' of the table whose key is in the batch'
      ~ (' lie' if missed != 1 else ' lies') ~ ' outside its ranges, for example ' ~ example
      ~ '. ' ~ settings.immutable | join(', ') ~ ': not immutable for its key, so nothing was merged. Accepted: columns that'
      ~ ' never change, `ranges: false` without `verify`, or on an alluvium'
      ~ ' target `verify: reject`: it keeps such events aside and merges the others.') }}
{% endmacro %}
