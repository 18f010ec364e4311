{% test known_columns(model, column_name=none) %}
  {{ config(severity='warn') }}
  {%- do alluvium._check_arguments('known_columns', {'column_name': column_name}, kwargs, kind='test') -%}
  {%- set settings = alluvium._merge_settings(alluvium._tested_node()) if execute else none %}
select
    unknown_column,
    count(*) as row_count
from (
    select explode({{ alluvium._quote(column_name) }}) as unknown_column
    from {{ alluvium.without_tombstones(model) if settings and settings.soft else model }}
)
group by unknown_column
{% endtest %}
