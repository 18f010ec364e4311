"""The parts of a merge that need the session: its ranges, its progress, its own commit."""

from alluvium.merge.ranges import plan_ranges

__all__ = ["plan_ranges"]
