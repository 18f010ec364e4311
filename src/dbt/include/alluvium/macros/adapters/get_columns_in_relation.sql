{#- Columns, as every macro of dbt expects. dbt-spark's gives the rows of DESCRIBE: a snapshot with
    `hard_deletes: new_record` then wrote NULL for each column of a deleted row. -#}
{% macro alluvium__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
