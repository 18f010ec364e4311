select * from {{ alluvium.storage('snapshots') }}
