"""The public names of ranges: where the values of one column of a batch lie. See docs/ranges.md."""

from alluvium.merge.range_frame import group_frame as group_frame
from alluvium.merge.range_frame import plan_frame as plan_frame
from alluvium.plan.fragment import Fragments as Fragments
from alluvium.plan.ranges.cost import COST as COST
from alluvium.plan.ranges.cost import CostModel as CostModel
from alluvium.plan.ranges.errors import RangeError as RangeError
from alluvium.plan.ranges.errors import UnfitError as UnfitError
from alluvium.plan.ranges.intervals import Ranges as Ranges
from alluvium.plan.ranges.literal import canonical_texts as canonical_texts
from alluvium.plan.ranges.literal import typed_literal as typed_literal
from alluvium.plan.ranges.locate import Kept as Kept
from alluvium.plan.ranges.plan import METHODS as METHODS
from alluvium.plan.ranges.plan import Plan as Plan
from alluvium.plan.ranges.plan import Request as Request
from alluvium.plan.ranges.plan import cover_runs as cover_runs
from alluvium.plan.ranges.plan import plan as plan
from alluvium.plan.ranges.predicate import Combined as Combined
from alluvium.plan.ranges.predicate import Group as Group
from alluvium.plan.ranges.predicate import Predicate as Predicate
from alluvium.plan.ranges.predicate import Term as Term
from alluvium.plan.ranges.predicate import group_rows as group_rows
from alluvium.plan.ranges.predicate import plan_predicate as plan_predicate
