"""The public names of ranges: where the values of one column of a batch lie. See docs/ranges.md."""

from alluvium.merge.range_frame import group_frame, plan_frame
from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.cost import COST, CostModel
from alluvium.plan.ranges.errors import RangeError, UnfitError
from alluvium.plan.ranges.intervals import Ranges
from alluvium.plan.ranges.literal import canonical_texts, typed_literal
from alluvium.plan.ranges.locate import Kept
from alluvium.plan.ranges.plan import METHODS, Plan, Request, cover_runs, plan
from alluvium.plan.ranges.predicate import (
    Combined,
    Group,
    Predicate,
    Term,
    group_rows,
    plan_predicate,
)

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
    "Request",
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
