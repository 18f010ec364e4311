"""Compaction: plans of `alluvium.plan.compaction`, carried out in Spark. See docs/compaction.md."""
