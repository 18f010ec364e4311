{#- Delta widens a type where `delta.enableTypeWidening` is on, and refuses anything else. -#}
{% macro alluvium__alter_column_type(relation, column_name, new_column_type) -%}
  {%- do run_query("alter table " ~ relation.render() ~ " alter column " ~ adapter.quote(column_name)
      ~ " type " ~ new_column_type) -%}
{%- endmacro %}
