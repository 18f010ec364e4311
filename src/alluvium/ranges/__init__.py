"""Ranges: where the values of one column of a batch lie. See docs/ranges.md."""

from alluvium.ranges.errors import RangeError
from alluvium.ranges.frame import plan_frame
from alluvium.ranges.literal import canonical_texts, typed_literal
from alluvium.ranges.plan import METHODS, Ranges, plan

__all__ = [
    "METHODS",
    "RangeError",
    "Ranges",
    "canonical_texts",
    "plan",
    "plan_frame",
    "typed_literal",
]
