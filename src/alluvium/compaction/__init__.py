"""Compaction: size tiers, locality levels and the final form of quiet buckets.

Planning is pure (`plan`, on what the log says of the fragments); `run` carries plans out in Spark.
See docs/compaction.md.
"""
