{#- The same of these models' tables, as far as there are any; nothing under --empty. -#}
{% macro _storage_of(kind, nodes, who) %}
  {%- if not execute or flags.INTROSPECT is sameas false -%}
    {#- There is no connection. -#}
    {{ return(alluvium._quote('__alluvium_' ~ kind)) }}
  {%- endif -%}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error(who ~ ': the target is of type ' ~ target.type ~ ', which does not read the logs of'
        ~ " tables; accepted: alluvium. For other targets let `enabled` in the config say: target.type == 'alluvium'.") -%}
  {%- endif -%}
  {%- set tables = [] -%}
  {%- for node in nodes if not flags.EMPTY -%}
    {%- set table = alluvium._existing_relation(node) -%}
    {%- if table is not none -%}
      {%- do tables.append({
          'model': alluvium._name_of(node), 'table': table.render(), 'layout': (node.config.get('meta') or {}).get('alluvium_layout')
      }) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(adapter.storage(kind, tables)) }}
{% endmacro %}


{#- The same of the tested model's table, once the test's limit is checked; for generic tests, whose names these are. -#}
{% macro _tested_storage(kind, name, max, least) %}
  {%- if max is not number or max is boolean or max < least -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ name ~ ': max is ' ~ max ~ '; accepted: a number from ' ~ least ~ ' on.') -%}
  {%- endif -%}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium._tested_node() -%}
  {%- if 'alluvium_layout' not in (node.config.get('meta') or {}) -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ name ~ ': ' ~ alluvium._name_of(node) ~ ' has no meta.alluvium_layout;'
        ~ ' accepted: a model that has one (docs/compaction.md).') -%}
  {%- endif -%}
  {{ return(alluvium._storage_of(kind, [node], 'alluvium.' ~ name)) }}
{% endmacro %}
