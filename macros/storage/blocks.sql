{#- The blocks of a table: its live data files and their footers, after a version or after the newest. -#}
{% macro blocks(relation, version=none) %}
  {{ return(alluvium._storage_of_relation('blocks', relation, version)) }}
{% endmacro %}
