{#- The name that `deduplicate` had. -#}
{% macro newest(relation, keys, order_by, first=false, nulls_equal=false) %}
  {{ return(alluvium.deduplicate(relation, keys, order_by, first, nulls_equal)) }}
{% endmacro %}
