{#- The blocks of a table: its live data files and their footers, after a version or after the newest. -#}
{% macro blocks(relation, version=none) -%}
(
{{ alluvium._block_rows(alluvium._actions_of(relation, 'alluvium.blocks', version), version) }}
)
{%- endmacro %}
