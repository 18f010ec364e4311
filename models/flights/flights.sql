{% if target.type == 'alluvium' %}
-- depends_on: {{ ref('flights_ranges') }}
{% endif %}
select * from {{ ref('flights_batch') }}
