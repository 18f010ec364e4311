{#- dbt run-operation alluvium.suggest_layout --args '{model: edits}'

    Says which layout the filters of the project's compiled SQL ask of a model's table, and why; without `model`, of
    every model's. Compile first: `dbt compile`. Runs none of it and changes nothing. -#}
{% macro suggest_layout(model=none) %}
  {%- if not alluvium._begin_operation('suggest_layout', {'model': model}, kwargs, 'does not show where filters reach tables') -%}
    {{ return('') }}
  {%- endif -%}
  {%- set statements = [] -%}
  {%- for node in graph.nodes.values() | sort(attribute='name') if node.resource_type in ('model', 'analysis') and node.config.materialized != 'ephemeral' -%}
    {%- do statements.append({
        'name': alluvium._name_of(node) if node.resource_type == 'model' else node.name, 'package': node.package_name, 'file': node.original_file_path, 'language': node.language
    }) -%}
  {%- endfor -%}
  {%- set tables = alluvium._tables_to_suggest_for(model) -%}
  {%- if not tables -%}{%- do log('alluvium.suggest_layout: no model has a Delta table yet', info=true) -%}{%- endif -%}
  {%- do alluvium._say(adapter.layout_suggestions(tables, statements)) -%}
{% endmacro %}
