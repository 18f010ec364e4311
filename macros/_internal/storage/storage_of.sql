{#- A view of what the logs of these models' tables say, as far as there are any; nothing under --empty. -#}
{% macro _storage_of(kind, nodes, who) %}
  {%- if not alluvium._reads_logs(who) -%}{{ return(alluvium._quote('__alluvium_' ~ kind)) }}{%- endif -%}
  {{ return(adapter.storage(kind, alluvium._tables_of(nodes), who)) }}
{% endmacro %}


{#- The same of one table, after a version or after the newest. -#}
{% macro _storage_of_relation(kind, relation, version=none) %}
  {%- set who = 'alluvium.' ~ kind -%}
  {%- if not alluvium._reads_logs(who) -%}{{ return(alluvium._quote('__alluvium_' ~ kind)) }}{%- endif -%}
  {%- if relation is string or relation is not mapping and relation.identifier is not defined -%}
    {%- do exceptions.raise_compiler_error(who ~ ': ' ~ alluvium._shown_value(relation) ~ " is not a relation; accepted: a relation, for example ref('flights')") -%}
  {%- endif -%}
  {{ return(adapter.storage(kind, [{'model': relation.identifier, 'table': relation.render(), 'layout': none, 'version': version}], who)) }}
{% endmacro %}


{#- Whether logs can be read now: not where there is no connection. Raises on a target that reads none. -#}
{% macro _reads_logs(who) %}
  {%- if not execute or flags.INTROSPECT is sameas false -%}{{ return(false) }}{%- endif -%}
  {%- do alluvium._require_alluvium(who, 'does not read the logs of tables', 'the config') -%}
  {{ return(true) }}
{% endmacro %}


{#- The models whose tables we look after; with those that are published, if asked for. -#}
{% macro _managed_models(published=false) %}
  {%- set nodes = [] -%}
  {%- for node in (graph.nodes.values() if execute else []) if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- if 'alluvium_layout' in meta or 'alluvium_merge' in meta or published and node.config.materialized == 'published' -%}
      {%- do nodes.append(node) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(nodes) }}
{% endmacro %}


{#- The tables of these models, as far as there are any; none under --empty. -#}
{% macro _tables_of(nodes) %}
  {%- set tables = [] -%}
  {%- for node in nodes if not flags.EMPTY -%}
    {%- set table = alluvium._existing_relation(node) -%}
    {%- if table is not none -%}
      {%- do tables.append({
          'model': alluvium._name_of(node), 'table': table.render(), 'layout': (node.config.get('meta') or {}).get('alluvium_layout')
      }) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(tables) }}
{% endmacro %}


{#- The same of the tested model's table, for generic tests, whose names these are. -#}
{% macro _tested_storage(kind, name) %}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium._tested_node() -%}
  {%- if 'alluvium_layout' not in (node.config.get('meta') or {}) -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ name ~ ': ' ~ alluvium._name_of(node) ~ ' has no meta.alluvium_layout;'
        ~ ' accepted: a model that has one (docs/compaction.md).') -%}
  {%- endif -%}
  {{ return(alluvium._storage_of(kind, [node], 'alluvium.' ~ name)) }}
{% endmacro %}
