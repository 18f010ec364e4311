-- depends_on: {{ ref('runways_ranges') }}
select * from {{ ref('runways_batch') }}
