select * from {{ alluvium.storage('segments') }}
