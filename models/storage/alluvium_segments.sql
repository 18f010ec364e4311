{{ alluvium._segment_rows(ref('alluvium_actions')) }}
