{% test immutable_column(model, column_name=none, unique_key=none, events=none, sample=0.01) %}
  {%- do alluvium._check_arguments('immutable_column', {'column_name': column_name, 'unique_key': unique_key, 'sample': sample}, kwargs, kind='test') -%}
  {%- set column = alluvium._quote(column_name) -%}
  {%- set quoted = alluvium._quote_names(alluvium._column_names(unique_key)) -%}
  {%- set keys = quoted | join(', ') %}
select
    {{ keys }},
    min({{ column }}) as first_value,
    max({{ column }}) as last_value
from (
    {%- for relation in [model, events] if relation is not none %}
    {{ 'union all' if not loop.first }}
    select {{ keys }}, {{ column }}
    from {{ relation }} as audited
    where pmod(xxhash64(cast({{ quoted | join(' as string), cast(') }} as string)), 1000000) < {{ (sample * 1000000) | int }}
    {%- endfor %}
) as sampled
where {{ column }} is not null
group by {{ keys }}
having min({{ column }}) != max({{ column }})
{% endtest %}
