"""Planning of compaction: size classes, levels, the final form of quiet buckets."""
