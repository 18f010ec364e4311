{#- The segments of a table: the live data files of each commit, after a version or after the newest. -#}
{% macro segments(relation, version=none) -%}
(
{{ alluvium._segment_rows(alluvium._actions_of(relation, 'alluvium.segments', version), version) }}
)
{%- endmacro %}
