"""Planning of compaction: size tiers, levels, the final form of quiet buckets."""
