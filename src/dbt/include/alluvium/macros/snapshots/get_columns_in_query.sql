{#- dbt looks for a snapshot's columns in its table by their names as texts. One in another case would be new to it: each row
    would change in every run, and rows that are gone would be NULL. -#}
{% macro alluvium__get_columns_in_query(select_sql) %}
  {%- set names = dbt.default__get_columns_in_query(select_sql) -%}
  {%- set stored = load_relation(this) if model.resource_type == 'snapshot' else none -%}
  {{ return(adapter.stored_names(names, adapter.get_columns_in_relation(stored)) if stored is not none else names) }}
{% endmacro %}
