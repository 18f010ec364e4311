"""What `benchmarks/compaction.py` is made of."""
