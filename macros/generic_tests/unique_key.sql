{% test unique_key(model, columns=none) %}
  {%- do alluvium._check_arguments('unique_key', {'columns': columns}, kwargs, kind='test') -%}
  {%- set quoted = [] -%}
  {%- for column in alluvium._column_names(columns) -%}
    {%- do quoted.append(alluvium._quote(column)) -%}
  {%- endfor %}
select
    {{ quoted | join(', ') }},
    count(*) as rows_of_key
from {{ model }}
group by {{ quoted | join(', ') }}
having count(*) > 1
{% endtest %}
