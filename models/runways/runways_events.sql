select * from {{ source('landing', 'runways') }}
