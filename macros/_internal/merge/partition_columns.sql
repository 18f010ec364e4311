{#- Names of the columns that the table is partitioned by. -#}
{% macro _partition_columns(relation) %}
  {{ return(adapter.partition_columns(relation.render()) if target.type == 'alluvium' else alluvium._table_detail(relation).partitions) }}
{% endmacro %}
