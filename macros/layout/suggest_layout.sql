{#- dbt run-operation alluvium.suggest_layout --args '{model: edits}'

    Says which layout the filters of the project's compiled SQL ask of a model's table, and why; without `model`, of
    every model's. Compile first: `dbt compile`. Runs none of it and changes nothing. -#}
{% macro suggest_layout(model=none) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- do alluvium.check_arguments('suggest_layout', {'model': model}, kwargs) -%}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error('alluvium.suggest_layout: the target is of type ' ~ target.type
        ~ ', which does not show where filters reach tables; accepted: alluvium.') -%}
  {%- endif -%}
  {%- do alluvium.validate() -%}
  {%- set statements = [] -%}
  {%- for node in graph.nodes.values() | sort(attribute='name') if node.resource_type in ('model', 'analysis') and node.config.materialized != 'ephemeral' -%}
    {%- do statements.append({
        'name': alluvium.name_of(node) if node.resource_type == 'model' else node.name, 'package': node.package_name, 'file': node.original_file_path, 'language': node.language
    }) -%}
  {%- endfor -%}
  {%- set tables = alluvium.tables_to_suggest_for(model) -%}
  {%- if not tables -%}{%- do log('alluvium.suggest_layout: no model has a Delta table yet', info=true) -%}{%- endif -%}
  {%- for line in adapter.layout_suggestions(tables, statements) -%}
    {%- do log(line, info=true) -%}
  {%- endfor -%}
{% endmacro %}


{#- What a suggestion needs to know of the model of this name, or of every model that is a Delta table. -#}
{% macro tables_to_suggest_for(name) %}
  {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | sort(attribute='name') if name is none else [alluvium.find_model(name, 'alluvium.suggest_layout')] -%}
  {%- set found = [] -%}
  {%- for node in nodes -%}
    {%- set relation = alluvium.existing_relation(node) -%}
    {%- if relation is not none and relation.is_delta and not relation.is_view -%}
      {%- set meta = node.config.get('meta') or {} -%}
      {%- set merge = alluvium.merge_settings(node) -%}
      {%- do found.append({
          'model': alluvium.name_of(node),
          'table': relation.render(),
          'schema': relation.schema,
          'identifier': relation.identifier,
          'language': node.language,
          'layout': meta.get('alluvium_layout'),
          'key': alluvium.as_list(node.config.get('unique_key')),
          'updates': merge.on_match == 'update' if merge
              else node.config.materialized == 'incremental' and node.config.get('incremental_strategy') == 'merge',
          'hides': ['_deleted'] if merge and merge.soft else [],
      }) -%}
    {%- elif name is not none -%}
      {%- do exceptions.raise_compiler_error("alluvium.suggest_layout: '" ~ name ~ "' "
          ~ ('has no table yet' if relation is none else 'is no Delta table')
          ~ '; accepted: a model whose Delta table was built.') -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}
