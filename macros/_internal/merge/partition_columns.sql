{#- Names of the columns that the table is partitioned by. -#}
{% macro partition_columns(relation) %}
  {{ return(adapter.dispatch('partition_columns', 'alluvium')(relation)) }}
{% endmacro %}

{% macro default__partition_columns(relation) %}
  {{ return(alluvium._table_detail(relation).partitions) }}
{% endmacro %}

{% macro alluvium__partition_columns(relation) %}
  {{ return(adapter.partition_columns(relation.render())) }}
{% endmacro %}
