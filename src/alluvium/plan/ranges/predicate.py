"""Which rows of a table a batch may match, told by more than one column.

Rows of a batch need not have every column: a delete may carry the key only. So they are taken in
groups that have the same columns. A row of the table is looked at if a group may match it. Then it
lies in the ranges of each column used for the group.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alluvium.names import quoted
from alluvium.plan.fragment import Flags, Fragments
from alluvium.plan.ranges.column_type import spark_type
from alluvium.plan.ranges.cost import COST, CostModel
from alluvium.plan.ranges.cover import auto_cuts
from alluvium.plan.ranges.intervals import Ranges, one_each
from alluvium.plan.ranges.literal import canonical_texts, told, typed_literal
from alluvium.plan.ranges.locate import Kept, locate, measure
from alluvium.plan.ranges.plan import DEFAULT_MAX_RANGES
from alluvium.plan.ranges.points import make_points


@dataclass(frozen=True)
class Term:
    """Rows whose column lies in one of the ranges or, where `or_null`, that have no value in it."""

    column: str
    ranges: Ranges
    or_null: bool

    def keeps(self, fragments: Fragments) -> Flags:
        """Which files may hold such a row."""
        if not len(self.ranges):
            return fragments.has_null & self.or_null
        located = locate(self.ranges, fragments, self.or_null)
        return located.kept(np.arange(1, len(self.ranges)))

    def sql(self, prefix: str) -> str:
        name = prefix + quoted(self.column)
        kind = spark_type(self.ranges.lo.type)
        lows, highs = (canonical_texts(bound) for bound in (self.ranges.lo, self.ranges.hi))
        # Spark tries one after the other, row by row: where most events are goes first.
        inside = []
        for place in np.argsort(-self.ranges.row_count, kind="stable"):
            bounds = told(lows[place], highs[place], kind)
            if bounds is None:
                return "true"
            lo, hi = (typed_literal(text, kind) for text in bounds)
            inside.append(f"{name} = {lo}" if lo == hi else f"{name} between {lo} and {hi}")
        return "(" + " or ".join(inside + [f"{name} is null"] * self.or_null) + ")"


@dataclass(frozen=True)
class Predicate:
    """An OR over groups of an AND over terms; a group without terms is true, no group is false."""

    groups: tuple[tuple[Term, ...], ...]

    @property
    def ranges(self) -> int:
        """How many comparisons it makes."""
        return sum(len(term.ranges) + term.or_null for group in self.groups for term in group)

    def keeps(self, fragments: Mapping[str, Fragments]) -> Flags:
        """Which files may hold a row for which it is true.

        fragments: of every column, in one order of the files.
        """
        files = len(next(iter(fragments.values())))
        kept = np.zeros(files, dtype=np.bool_)
        for group in self.groups:
            every = np.ones(files, dtype=np.bool_)
            for term in group:
                every &= term.keeps(fragments[term.column])
            kept |= every
        return kept

    def sql(self, alias: str = "") -> str:
        """Spark SQL in which no value can change the structure; see docs/ranges.md."""
        prefix = alias and alias + "."
        groups = [
            " and ".join(text for term in group if (text := term.sql(prefix)) != "true")
            for group in self.groups
        ]
        if not groups:
            return "false"
        return "true" if "" in groups else "(" + " or ".join(f"({group})" for group in groups) + ")"


@dataclass(frozen=True)
class Group:
    """Rows of a batch that have the same columns.

    Attributes:
        runs: for each column that they have, ranges that hold their values, however fine.
        keys: columns that match only the same value. Any other column is immutable: rows of the
            table without it match too. For rows of the batch without it every row does.
        lacking: key columns that the rows do not have: they match no row that has them.
    """

    runs: Mapping[str, Ranges]
    keys: Collection[str]
    lacking: Mapping[str, pa.DataType]

    def terms(self) -> list[Term]:
        """What holds for all rows of a table that these may match, a term a column."""
        has = [Term(name, runs, name not in self.keys) for name, runs in self.runs.items()]
        return has + [
            Term(name, one_each(make_points(pa.array([], kind))), True)
            for name, kind in self.lacking.items()
        ]


@dataclass(frozen=True)
class Combined:
    """A predicate, and what it leaves of the table."""

    predicate: Predicate
    kept: Kept


def group_rows(batch: pa.Table, keys: Collection[str]) -> list[Group]:
    """The groups of a batch that is at hand.

    Args:
        batch: the columns to prune on.
        keys: those of them that belong to the key.
    """
    missing = {name: np.asarray(pc.is_null(batch[name])) for name in batch.column_names}
    groups = []
    for lacks in itertools.product((False, True), repeat=batch.num_columns):
        pattern = dict(zip(batch.column_names, lacks, strict=True))
        chosen = np.ones(batch.num_rows, dtype=np.bool_)
        for name, lack in pattern.items():
            chosen &= missing[name] == lack
        if chosen.any():
            rows = batch.filter(pa.array(chosen))
            runs = {n: one_each(make_points(rows[n])) for n, lack in pattern.items() if not lack}
            types = {n: batch[n].type for n, lack in pattern.items() if lack and n in keys}
            groups.append(Group(runs, keys, types))
    return groups


def plan_predicate(
    groups: Sequence[Group],
    fragments: Mapping[str, Fragments],
    max_ranges: int = DEFAULT_MAX_RANGES,
    cost: CostModel = COST,
) -> Combined:
    """The cheapest predicate found for these rows of a batch.

    For each group every order of its columns is tried. The first column takes the ranges that are
    worth it on the files that no other group needs. The next one does so on those still kept. What
    is found is not always the cheapest predicate of all, but never dearer than none.

    Args:
        groups: all rows of the batch, see `group_rows`.
        fragments: of every column, in one order of the files.
        max_ranges: most ranges of one column in one group.
        cost: what is priced with.
    """
    needed = [Predicate((tuple(group.terms()),)).keeps(fragments) for group in groups]
    chosen = []
    for place, group in enumerate(groups):
        others = [flags for at, flags in enumerate(needed) if at != place]
        free = ~np.logical_or.reduce(others) if others else np.ones_like(needed[place])
        chosen.append(_cheapest(group.terms(), fragments, free, max_ranges, cost))
    sizes = next(iter(fragments.values()))
    found, nothing = Predicate(tuple(chosen)), Predicate(((),))
    results = [Combined(one, measure(sizes, one.keeps(fragments))) for one in (nothing, found)]
    return min(results, key=lambda one: cost.price(one.kept, one.predicate.ranges))


def _cheapest(
    terms: list[Term],
    fragments: Mapping[str, Fragments],
    free: Flags,
    max_ranges: int,
    cost: CostModel,
) -> tuple[Term, ...]:
    """The terms that cost least with what they leave of the free files."""
    orders = [
        order
        for count in range(1, len(terms) + 1)
        for order in itertools.permutations(terms, count)
    ]
    best: tuple[float, tuple[Term, ...]] | None = None
    for order in orders:
        left, taken = free, []
        for term in order:
            joined = _worthwhile(term, fragments[term.column], left, max_ranges, cost)
            if joined:
                taken.append(joined)
                left = left & joined.keeps(fragments[term.column])
        kept = measure(fragments[terms[0].column], left)
        price = cost.price(kept, Predicate((tuple(taken),)).ranges)
        if best is None or price < best[0]:
            best = price, tuple(taken)
    return best[1] if best else ()


def _worthwhile(
    term: Term, fragments: Fragments, left: Flags, max_ranges: int, cost: CostModel
) -> Term | None:
    if not len(term.ranges):
        gone = left & ~term.keeps(fragments)
        saved = cost.reading(int(gone.sum()), fragments.sizes[gone].sum(), 0)
        return term if saved > cost.predicate(1, len(fragments)) else None
    located = locate(term.ranges, fragments, term.or_null).among(left)
    cuts = auto_cuts(located, max_ranges, cost)
    return None if cuts is None else Term(term.column, term.ranges.joined(cuts), term.or_null)
