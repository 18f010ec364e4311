{#- Adds columns; drops them where the table allows it, which is Delta with column mapping. -#}
{% macro alluvium__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- if remove_columns and execute -%}
    {%- do alluvium_check_removed(relation, remove_columns) -%}
    {%- do run_query("alter table " ~ relation.render() ~ " drop columns ("
        ~ (remove_columns | map(attribute='quoted') | join(', ')) ~ ")") -%}
  {%- endif -%}
  {%- if add_columns and execute -%}
    {%- set columns = [] -%}
    {%- for column in add_columns -%}
      {%- do columns.append(column.quoted ~ ' ' ~ column.data_type) -%}
    {%- endfor -%}
    {%- do run_query("alter table " ~ relation.render() ~ " add columns (" ~ columns | join(', ') ~ ")") -%}
  {%- endif -%}
{% endmacro %}


{#- Raises where columns of a table cannot be dropped. -#}
{% macro alluvium_check_removed(relation, columns) %}
  {%- if 'alluvium_merge' in (model.config.get('meta') or {}) -%}
    {%- do alluvium._check_removed_columns(model, columns) -%}
  {%- endif -%}
  {%- set properties = fetch_tbl_properties(relation) -%}
  {%- set mapping = properties.rows | selectattr(0, 'equalto', 'delta.columnMapping.mode') | map(attribute=1) | first -%}
  {%- if mapping not in ('name', 'id') -%}
    {% do exceptions.raise_compiler_error(
        relation.render() ~ ": columns cannot be dropped (" ~ (columns | map(attribute='name') | join(', '))
        ~ "). Delta drops columns of tables with column mapping only: set"
        ~ " `tblproperties: {delta.columnMapping.mode: name}` on the node and build it with --full-refresh,"
        ~ " or use `on_schema_change: append_new_columns`.") %}
  {%- endif -%}
{% endmacro %}
