{% test unique_key(model, columns=none) %}
  {%- do alluvium.check_arguments('unique_key', {'columns': columns}, kwargs, kind='test') -%}
  {%- set quoted = [] -%}
  {%- for column in alluvium.column_names(columns) -%}
    {%- do quoted.append(alluvium.quote(column)) -%}
  {%- endfor %}
select
    {{ quoted | join(', ') }},
    count(*) as rows_of_key
from {{ model }}
group by {{ quoted | join(', ') }}
having count(*) > 1
{% endtest %}
