{#- A relation of what the logs of all managed tables say, for a table model:
    select * from {{ alluvium.storage('fragments') }} -#}
{% macro storage(kind) %}
  {%- set kinds = ['fragments', 'buckets', 'compactions'] -%}
  {%- if kind not in kinds -%}
    {%- do exceptions.raise_compiler_error("alluvium.storage: '" ~ kind ~ "'; accepted: " ~ kinds | join(', ')) -%}
  {%- endif -%}
  {%- set nodes = [] -%}
  {%- for node in (graph.nodes.values() if execute else []) if node.resource_type == 'model' -%}
    {%- set meta = node.config.get('meta') or {} -%}
    {%- if 'alluvium_layout' in meta or 'alluvium_merge' in meta -%}{%- do nodes.append(node) -%}{%- endif -%}
  {%- endfor -%}
  {{ return(alluvium.storage_of(kind, nodes, 'alluvium.storage')) }}
{% endmacro %}


{#- The same of these models' tables, as far as there are any; nothing under --empty. -#}
{% macro storage_of(kind, nodes, who) %}
  {%- if not execute or flags.INTROSPECT is sameas false -%}
    {#- There is no connection. -#}
    {{ return(alluvium.quote('__alluvium_' ~ kind)) }}
  {%- endif -%}
  {%- if target.type != 'alluvium' -%}
    {%- do exceptions.raise_compiler_error(who ~ ': the target is of type ' ~ target.type ~ ', which does not read the logs of'
        ~ " tables; accepted: alluvium. For other targets let `enabled` in the config say: target.type == 'alluvium'.") -%}
  {%- endif -%}
  {%- set tables = [] -%}
  {%- for node in nodes if not flags.EMPTY -%}
    {%- set table = alluvium.existing_relation(node) -%}
    {%- if table is not none -%}
      {%- do tables.append({
          'model': alluvium.name_of(node), 'table': table.render(), 'layout': (node.config.get('meta') or {}).get('alluvium_layout')
      }) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(adapter.storage(kind, tables)) }}
{% endmacro %}


{#- The same of the tested model's table, once the test's limit is checked; for generic tests, whose names these are. -#}
{% macro tested_storage(kind, name, max, least) %}
  {%- if max is not number or max is boolean or max < least -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ name ~ ': max is ' ~ max ~ '; accepted: a number from ' ~ least ~ ' on.') -%}
  {%- endif -%}
  {%- if not execute -%}{{ return('') }}{%- endif -%}
  {%- set node = alluvium.tested_node() -%}
  {%- if 'alluvium_layout' not in (node.config.get('meta') or {}) -%}
    {%- do exceptions.raise_compiler_error('alluvium.' ~ name ~ ': ' ~ alluvium.name_of(node) ~ ' has no meta.alluvium_layout;'
        ~ ' accepted: a model that has one (docs/compaction.md).') -%}
  {%- endif -%}
  {{ return(alluvium.storage_of(kind, [node], 'alluvium.' ~ name)) }}
{% endmacro %}
