{#- A relation of what the logs of all managed tables say, for a table model:
    select * from {{ alluvium.storage('fragments') }} -#}
{% macro storage(kind) %}
  {%- set kinds = ['fragments', 'buckets', 'compactions', 'snapshots', 'segments'] -%}
  {%- if kind not in kinds -%}
    {%- do exceptions.raise_compiler_error("alluvium.storage: '" ~ kind ~ "'; accepted: " ~ kinds | join(', ')) -%}
  {%- endif -%}
  {{ return(alluvium._storage_of(kind, alluvium._managed_models(published=kind in ('snapshots', 'segments')), 'alluvium.storage')) }}
{% endmacro %}
