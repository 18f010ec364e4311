{#- The boundaries crossed between two moments, as on other warehouses; a week begins on Sunday. -#}
{% macro alluvium__datediff(first_date, second_date, datepart) -%}
  {%- set part = datepart | lower -%}
  {%- set shift = ' + interval 1 day' if part == 'week' else '' -%}
    timestampdiff({{ part }},
        date_trunc('{{ part }}', cast({{ first_date }} as timestamp){{ shift }}),
        date_trunc('{{ part }}', cast({{ second_date }} as timestamp){{ shift }}))
{%- endmacro %}
