{#- dbt takes an empty list for none given, and updates every column. Names it writes into SQL as they stand. -#}
{% macro alluvium__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {%- if config.get('merge_update_columns') == [] and not merge_exclude_columns -%}{{ return([]) }}{%- endif -%}
  {{ return(dbt.default__get_merge_update_columns(
      adapter.identifiers(merge_update_columns, dest_columns), merge_exclude_columns, dest_columns)) }}
{% endmacro %}
