{#- dbt run-operation alluvium.explain_merge --args '{model: flights}'

    Prints what the next merge of the model would do: events, ranges, the files and bytes that
    they leave to read, and the engine. Takes the batch as it is staged now; merges and changes nothing. -#}
{% macro explain_merge(model=none) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.check_arguments('explain_merge', {'model': model}, kwargs) -%}
  {%- do alluvium.validate() -%}
  {%- set node = alluvium.find_model(model, 'alluvium.explain_merge') -%}
  {%- set settings = alluvium.merge_settings(node) -%}
  {%- if settings is none or node.language != 'sql' -%}
    {%- do exceptions.raise_compiler_error("alluvium.explain_merge: '" ~ model
        ~ "' is no SQL model with meta.alluvium_merge; accepted: the name of one.") -%}
  {%- endif -%}
  {%- set target_relation = alluvium.existing_relation(node) -%}
  {%- if target_relation is none -%}
    {%- do log(model ~ ': no table yet; the first run creates it and merges everything', info=true) -%}
    {{ return('') }}
  {%- endif -%}
  {%- set source = api.Relation.create(identifier=node.alias ~ '__dbt_explain') -%}
  {#- The SQL is that of the model, which may name itself. -#}
  {%- do context.update({'model': node}) -%}
  {%- set sql = try_or_compiler_error(
      'alluvium.explain_merge: the SQL of ' ~ model ~ ' cannot be rendered outside of a run; accepted: a model without'
      ~ ' this and is_incremental()', render, node.raw_code) -%}
  {%- do run_query('create or replace temporary view ' ~ source ~ ' as ' ~ sql) -%}
  {%- set plan = alluvium.merge_plan(target_relation, source, node) -%}
  {%- set n = alluvium.thousands -%}
  {%- if not plan.pending -%}
    {%- do log(model ~ ': nothing new in the staged batch', info=true) -%}
    {{ return('') }}
  {%- endif -%}
  {%- do log(model ~ ': ' ~ alluvium.counted(plan.profile.events, 'event') ~ ' for '
      ~ alluvium.counted(plan.profile.key_count, 'key') ~ ', ' ~ alluvium.counted(plan.profile.deletes, 'delete')
      ~ (', ' ~ n(plan.profile.lacking) ~ ' without the range column' if plan.settings.ranges else ''), info=true) -%}
  {%- for row in plan.ranges -%}
    {%- do log('  ' ~ row.column_name ~ ' ' ~ row.lo ~ ' … ' ~ row.hi ~ '  (' ~ plan.method ~ ')', info=true) -%}
  {%- endfor -%}
  {%- set kept = alluvium.files_kept(target_relation, plan.prune) -%}
  {%- if kept -%}
    {%- do log('  ' ~ n(kept.files_kept) ~ ' of ' ~ n(kept.files_total) ~ ' files, '
        ~ n(kept.bytes_kept) ~ ' of ' ~ n(kept.bytes_total) ~ ' bytes', info=true) -%}
  {%- endif -%}
  {%- do log('  predicate: ' ~ (plan.prune or 'none'), info=true) -%}
  {%- do log('  engine: ' ~ alluvium.merge_engine(target_relation, plan, node), info=true) -%}
{% endmacro %}


{#- What will run the merge, and why it is not the one-commit merge where that was not asked for. -#}
{% macro merge_engine(target, plan, node) %}
  {{ return(adapter.dispatch('merge_engine', 'alluvium')(target, plan, node)) }}
{% endmacro %}

{% macro default__merge_engine(target, plan, node) %}
  {{ return('merge_into') }}
{% endmacro %}

{% macro alluvium__merge_engine(target, plan, node) %}
  {%- if plan.settings.engine == 'merge_into' -%}{{ return('merge_into') }}{%- endif -%}
  {%- if plan.settings.soft and '_deleted' not in plan.types -%}
    {{ return('known when the merge has added the column _deleted') }}
  {%- endif -%}
  {%- set predicates = node.config.get('predicates') or node.config.get('incremental_predicates') -%}
  {%- set refused = adapter.merge_refused(alluvium.planned_statement(target, plan, node, predicates)) -%}
  {{ return('merge_into, for ' ~ refused if refused else 'one_commit') }}
{% endmacro %}


{#- Files that the predicate leaves, as Delta's own skipping finds them. Needs the session. -#}
{% macro files_kept(target, prune) %}
  {{ return(adapter.dispatch('files_kept', 'alluvium')(target, prune)) }}
{% endmacro %}

{% macro default__files_kept(target, prune) %}
  {{ return({}) }}
{% endmacro %}

{% macro alluvium__files_kept(target, prune) %}
  {{ return(adapter.files_kept(target.render(), alluvium.prune_on_target(prune))) }}
{% endmacro %}


{#- The predicate for a query on the target alone; none where nothing is known. -#}
{% macro prune_on_target(prune) %}
  {{ return(prune | replace('DBT_INTERNAL_DEST.', '') if prune else none) }}
{% endmacro %}
