{#- `on_schema_change` compares the batch with the table. On stock targets the control columns of a batch must not be
    added for that, nor the tombstones' columns be dropped. Nowhere may a column be dropped that the merge needs. -#}
{% macro spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- set changes = alluvium._stored_columns(add_columns, remove_columns) -%}
  {%- if changes.add or changes.remove -%}
    {%- do dbt.spark__alter_relation_add_remove_columns(relation, changes.add, changes.remove) -%}
  {%- endif -%}
{% endmacro %}


{% macro databricks__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- set changes = alluvium._stored_columns(add_columns, remove_columns) -%}
  {%- if changes.add or changes.remove -%}
    {%- do dbt.databricks__alter_relation_add_remove_columns(relation, changes.add, changes.remove) -%}
  {%- endif -%}
{% endmacro %}


{#- dbt looks through a package for Spark's macro before it comes to the adapter's own. -#}
{% macro alluvium__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {{ return(dbt.alluvium__alter_relation_add_remove_columns(relation, add_columns, remove_columns)) }}
{% endmacro %}


{% macro _stored_columns(add_columns, remove_columns) %}
  {%- set add = add_columns or [] -%}
  {%- set remove = remove_columns or [] -%}
  {%- if model.resource_type == 'model' and alluvium._merge_settings(model) is not none -%}
    {%- set controls = alluvium._control_columns(alluvium._merge_settings(model)) -%}
    {%- set add = add | rejectattr('name', 'in', controls) | list -%}
    {%- set remove = remove | rejectattr('name', 'in', ('_deleted', '_tombstone_time')) | list -%}
    {%- do alluvium._check_removed_columns(model, remove) -%}
  {%- endif -%}
  {{ return({'add': add, 'remove': remove}) }}
{% endmacro %}
