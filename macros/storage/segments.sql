{#- The segments of a table: the live data files of each commit, after a version or after the newest. -#}
{% macro segments(relation, version=none) %}
  {{ return(alluvium._storage_of_relation('segments', relation, version)) }}
{% endmacro %}
