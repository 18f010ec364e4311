{% test unique_key(model, columns=none) %}
  {%- do alluvium._check_arguments('unique_key', {'columns': columns}, kwargs, kind='test') -%}
  {%- set key = alluvium._quote_names(alluvium._column_names(columns)) | join(', ') %}
select
    {{ key }},
    count(*) as rows_of_key
from {{ model }}
group by {{ key }}
having count(*) > 1
{% endtest %}
