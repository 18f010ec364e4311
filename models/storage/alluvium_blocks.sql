{{ alluvium._block_rows(ref('alluvium_actions')) }}
