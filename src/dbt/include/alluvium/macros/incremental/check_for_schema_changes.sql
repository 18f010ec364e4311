{#- dbt compares names as texts. To Spark a name in another case is the same column, which the table has. A column that
    the table fills itself is not missing. One of NULLs alone (void) fits any type. -#}
{% macro alluvium__check_for_schema_changes(source_relation, target_relation) %}
  {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- set selected = adapter.get_columns_in_relation(source_relation) -%}
  {%- set names = adapter.stored_names(selected | map(attribute='name') | list, target_columns) -%}
  {%- set source_columns = [] -%}
  {%- for column in selected -%}
    {%- do source_columns.append(api.Column.create(names[loop.index0], column.dtype)) -%}
  {%- endfor -%}
  {%- set left_out = alluvium_left_out(source_relation, target_relation) -%}
  {#- Of its merges: see the package's macro `_tombstone_moment`. -#}
  {%- if 'alluvium_merge' in (config.get('meta') or {}) -%}{%- do left_out.append('_tombstone_time') -%}{%- endif -%}
  {%- set changes = {
      'source_columns': source_columns,
      'target_columns': target_columns,
      'source_not_in_target': diff_columns(source_columns, target_columns),
      'target_not_in_source': diff_columns(target_columns, source_columns) | rejectattr('name', 'in', left_out) | list,
      'new_target_types': diff_column_data_types(source_columns, target_columns) | rejectattr('new_type', 'eq', 'void') | list,
  } -%}
  {{ return(dict(changes, schema_changed=(
      changes.source_not_in_target + changes.target_not_in_source + changes.new_target_types) | length > 0)) }}
{% endmacro %}
