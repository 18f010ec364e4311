{#- The snapshots of a table, one for each commit that its log still tells. -#}
{% macro snapshots(relation) %}
  {{ return(alluvium._storage_of_relation('snapshots', relation)) }}
{% endmacro %}
