{#- What a suggestion needs to know of the model of this name, or of every model that is a Delta table. -#}
{% macro _tables_to_suggest_for(name) %}
  {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'eq', 'model') | sort(attribute='name') if name is none else [alluvium._find_model(name, 'alluvium.suggest_layout')] -%}
  {%- set found = [] -%}
  {%- for node in nodes -%}
    {%- set relation = alluvium._existing_relation(node) -%}
    {%- if relation is not none and relation.is_delta and not relation.is_view -%}
      {%- set meta = node.config.get('meta') or {} -%}
      {%- set merge = alluvium._merge_settings(node) -%}
      {%- do found.append({
          'model': alluvium._name_of(node),
          'table': relation.render(),
          'schema': relation.schema,
          'identifier': relation.identifier,
          'language': node.language,
          'layout': meta.get('alluvium_layout'),
          'key': alluvium._as_list(node.config.get('unique_key')),
          'updates': merge.on_match == 'update' if merge
              else node.config.materialized == 'incremental' and node.config.get('incremental_strategy') == 'merge',
          'hides': ['_deleted'] if merge and merge.soft else [],
      }) -%}
    {%- elif name is not none -%}
      {%- do exceptions.raise_compiler_error("alluvium.suggest_layout: '" ~ name ~ "' "
          ~ ('has no table yet' if relation is none else 'is not a Delta table')
          ~ '; accepted: a model whose Delta table was built.') -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(found) }}
{% endmacro %}
