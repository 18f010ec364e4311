{#- Types of a relation's columns by their names in lower case: upper and lower case are one to Spark. -#}
{% macro _column_types(relation) %}
  {{ return(alluvium._types_of(adapter.get_columns_in_relation(relation))) }}
{% endmacro %}


{% macro _types_of(columns) %}
  {%- set types = {} -%}
  {%- for column in columns -%}{%- do types.update({column.name | lower: column.dtype}) -%}{%- endfor -%}
  {{ return(types) }}
{% endmacro %}


{#- Names of a batch's columns as they are written: SQL does not find every one by its lower case.
    without: names, in lower case, of columns that only steer its merge. -#}
{% macro _event_columns(columns, without=('_batch_through', '_batch_after', '__alluvium_changed_range')) %}
  {%- set names = [] -%}
  {%- for column in columns if column.name | lower not in without -%}
    {%- do names.append(column.name) -%}
  {%- endfor -%}
  {{ return(names) }}
{% endmacro %}


{#- Columns of a batch that are not stored, in lower case. -#}
{% macro _control_columns(settings) %}
  {{ return(['_batch_through', '_batch_after'] + ([settings.reject_by | lower] if settings.reject_by is not none else [])) }}
{% endmacro %}


{#- Columns that the settings name, by the setting. -#}
{% macro _needed_columns(settings) %}
  {{ return({'unique_key': settings.unique_key, 'order_by': settings.order_by,
             'keep_by': [settings.keep_by] if settings.keep_by else [],
             'ranges.column': settings.ranges.columns if settings.ranges else []}) }}
{% endmacro %}
