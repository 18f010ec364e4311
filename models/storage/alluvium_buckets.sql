select * from {{ alluvium.storage('buckets') }}
