select * from {{ alluvium.storage('compactions') }}
