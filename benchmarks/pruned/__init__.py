"""Parts of the benchmark of pruned reads."""
