"""What a merge decides between its look at table and batch and its statement."""
