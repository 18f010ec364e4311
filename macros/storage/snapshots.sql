{#- The snapshots of a table, one for each commit that its log still tells. -#}
{% macro snapshots(relation) -%}
(
{{ alluvium._snapshot_rows(alluvium._actions_of(relation, 'alluvium.snapshots')) }}
)
{%- endmacro %}
