select * from {{ source('landing', 'flights') }}
