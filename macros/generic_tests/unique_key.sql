{% test unique_key(model, columns) %}
  {%- set quoted = [] -%}
  {%- for column in columns -%}
    {%- do quoted.append(alluvium.quote(column)) -%}
  {%- endfor %}
select
    {{ quoted | join(', ') }},
    count(*) as rows_of_key
from {{ model }}
group by {{ quoted | join(', ') }}
having count(*) > 1
{% endtest %}
