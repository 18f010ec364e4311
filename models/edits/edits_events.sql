select * from {{ source('landing', 'edits') }}
