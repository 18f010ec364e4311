select * from {{ alluvium.storage('fragments') }}
