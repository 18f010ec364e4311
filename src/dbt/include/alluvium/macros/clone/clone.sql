{#- dbt-spark's clone refuses a model that names no file format; here that means Delta. -#}
{% materialization clone, adapter='alluvium' %}
  {{ return(materialization_clone_default()) }}
{% endmaterialization %}
