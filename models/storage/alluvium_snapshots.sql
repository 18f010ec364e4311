{{ alluvium._snapshot_rows(ref('alluvium_actions')) }}
