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
  {{ return(alluvium._storage_of(kind, nodes, 'alluvium.storage')) }}
{% endmacro %}
