{#- The name that `without_tombstones` had. -#}
{% macro live(relation) %}
  {{ return(alluvium.without_tombstones(relation)) }}
{% endmacro %}
