{#- `on_schema_change` compares the batch with the table. On stock targets the control columns of a batch must not be
    added for that, nor the tombstones' columns be dropped. Nowhere may a column be dropped that the merge needs.
    It is asked on every target: see `spark__get_merge_sql`. -#}
{% macro spark__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- set own = dbt[target.type ~ '__alter_relation_add_remove_columns'] -%}
  {%- if target.type == 'alluvium' -%}{{ return(own(relation, add_columns, remove_columns)) }}{%- endif -%}
  {%- set changes = alluvium._stored_columns(add_columns, remove_columns) -%}
  {%- if changes.add or changes.remove -%}{%- do own(relation, changes.add, changes.remove) -%}{%- endif -%}
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
