"""Ranges: where the values of one column of a batch lie. See docs/ranges.md."""

from alluvium.ranges.cost import COST, CostModel
from alluvium.ranges.errors import RangeError, UnfitError
from alluvium.ranges.fragments import Fragments, Kept
from alluvium.ranges.frame import group_frame, plan_frame
from alluvium.ranges.intervals import Ranges
from alluvium.ranges.literal import canonical_texts, typed_literal
from alluvium.ranges.plan import METHODS, Plan, cover_runs, plan
from alluvium.ranges.predicate import Combined, Group, Predicate, Term, group_rows, plan_predicate

__all__ = [
    "COST",
    "METHODS",
    "Combined",
    "CostModel",
    "Fragments",
    "Group",
    "Kept",
    "Plan",
    "Predicate",
    "RangeError",
    "Ranges",
    "Term",
    "UnfitError",
    "canonical_texts",
    "cover_runs",
    "group_frame",
    "group_rows",
    "plan",
    "plan_frame",
    "plan_predicate",
    "typed_literal",
]
