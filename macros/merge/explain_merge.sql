{#- dbt run-operation alluvium.explain_merge --args '{model: flights}'

    Prints what the next merge of the model would do: events, ranges, the files and bytes that
    they leave to read, and the engine. Takes the batch as it is staged now; merges and changes nothing. -#}
{% macro explain_merge(model=none) %}
  {%- set node = alluvium._model_of('explain_merge', {'model': model}, kwargs) -%}
  {%- if not node -%}{{ return('') }}{%- endif -%}
  {%- set settings = alluvium._merge_settings(node) -%}
  {%- if settings is none or node.language != 'sql' -%}
    {%- do exceptions.raise_compiler_error("alluvium.explain_merge: '" ~ model
        ~ "' is not a SQL model with meta.alluvium_merge; accepted: the name of one" ~ alluvium._whose_rows(node) ~ '.') -%}
  {%- endif -%}
  {%- set target_relation = alluvium._existing_relation(node) -%}
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
  {%- set predicates = node.config.get('predicates') or node.config.get('incremental_predicates') -%}
  {%- set plan = adapter.explain_merge(target_relation, source, node, predicates) if target.type == 'alluvium'
         else dict(alluvium._merge_plan(target_relation, source, node, predicates), engine='merge_into') -%}
  {%- set n = alluvium._thousands -%}
  {%- if not plan.pending -%}
    {%- do log(model ~ ': nothing new in the staged batch', info=true) -%}
    {{ return('') }}
  {%- endif -%}
  {%- do log(model ~ ': ' ~ alluvium._counted(plan.profile.events, 'event') ~ ' for '
      ~ alluvium._counted(plan.profile.key_count, 'key') ~ ', ' ~ alluvium._counted(plan.profile.deletes, 'delete')
      ~ (', ' ~ n(plan.profile.lacking) ~ ' without the range column' if plan.settings.ranges else ''), info=true) -%}
  {%- for row in plan.ranges -%}
    {%- do log('  ' ~ row.column_name ~ ' ' ~ row.lo ~ ' … ' ~ row.hi ~ '  (' ~ plan.method ~ ')', info=true) -%}
  {%- endfor -%}
  {%- if plan.kept -%}
    {%- do log('  ' ~ n(plan.kept.files) ~ ' of ' ~ n(plan.kept.files_total) ~ ' files, '
        ~ n(plan.kept.bytes) ~ ' of ' ~ n(plan.kept.bytes_total) ~ ' bytes'
        ~ (', ' ~ n(plan.kept.skipped) ~ ' files fewer by automata' if plan.kept.skipped else ''), info=true) -%}
  {%- endif -%}
  {%- do log('  predicate: ' ~ (plan.predicate or 'none'), info=true) -%}
  {%- do log('  engine: ' ~ plan.engine, info=true) -%}
{% endmacro %}
