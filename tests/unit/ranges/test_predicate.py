"""Predicates on several columns: no match is lost, against brute force over rows."""

import itertools
import re
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from unit.ranges.columns import TYPES, key
from unit.ranges.files import plain

from alluvium.ranges import (
    CostModel,
    Fragments,
    Predicate,
    Ranges,
    Term,
    group_rows,
    plan_predicate,
)

# An immutable column and two of the key, all of which may be NULL on both sides.
COLUMNS = ("at", "key", "part")
KEYS = ("key", "part")
KINDS = {"at": pa.int64(), "key": pa.string(), "part": pa.float64()}
ONE = {
    "at": st.integers(0, 30),
    "key": st.sampled_from("abcdefghijkl"),
    "part": st.sampled_from([-1.0, -0.0, 0.0, 2.0, float("inf"), float("nan")]),
}
ROWS = st.fixed_dictionaries({c: st.none() | ONE[c] for c in COLUMNS})
COST = CostModel(byte=1.0, file=1.0, range=0.25, range_file=0.0, range_byte=0.0, planning=0.0)


def same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and key(a) == key(b))


def matches(target: dict[str, Any], event: dict[str, Any]) -> bool:
    """The keys are the same (null-safe); the immutable column is where both have it."""
    at = target["at"], event["at"]
    return all(same(target[k], event[k]) for k in KEYS) and (None in at or at[0] == at[1])


def is_true(predicate: Predicate, target: dict[str, Any]) -> bool:
    def holds(term: Term) -> bool:
        value = target[term.column]
        if value is None:
            return term.or_null
        bounds = zip(term.ranges.lo.to_pylist(), term.ranges.hi.to_pylist(), strict=True)
        return any(key(lo) <= key(value) <= key(hi) for lo, hi in bounds)

    return any(all(holds(term) for term in group) for group in predicate.groups)


def described(files: list[list[dict[str, Any]]]) -> dict[str, Fragments]:
    def column(name: str) -> Fragments:
        values = [[row[name] for row in rows] for rows in files]
        present = [[v for v in one if v is not None] for one in values]
        lo, hi = ([pick(one, key=key) if one else None for one in present] for pick in (min, max))
        return Fragments.read(
            pa.table(
                {
                    "size": pa.array([len(rows) for rows in files], pa.int64()),
                    "rows": pa.array([len(rows) for rows in files], pa.int64()),
                    "nulls": pa.array([one.count(None) for one in values], pa.int64()),
                    "lo": pa.array(lo, KINDS[name], from_pandas=False),
                    "hi": pa.array(hi, KINDS[name], from_pandas=False),
                }
            )
        )

    return {name: column(name) for name in COLUMNS}


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], KINDS[name], from_pandas=False)
            for name in COLUMNS
        }
    )


@given(
    batch=st.lists(ROWS, max_size=6),
    files=st.lists(st.lists(ROWS, min_size=1, max_size=3), min_size=1, max_size=8),
    most=st.integers(1, 3),
)
@examples(60)
def test_no_match_is_lost(
    batch: list[dict[str, Any]], files: list[list[dict[str, Any]]], most: int
) -> None:
    fragments = described(files)
    found = plan_predicate(group_rows(table(batch), KEYS), fragments, most, COST)
    keeps = found.predicate.keeps(fragments)
    for rows, keep in zip(files, keeps, strict=True):
        for row in rows:
            if any(matches(row, event) for event in batch):
                assert is_true(found.predicate, row)
            # A file is kept if a row in it is looked at; bounds alone may keep more.
            assert keep or not is_true(found.predicate, row)
    assert found.kept.files == keeps.sum()
    assert found.kept.bytes == sum(len(r) for r, keep in zip(files, keeps, strict=True) if keep)
    nothing = COST.price(found.kept, 0) + sum(
        1 + len(rows) for rows, keep in zip(files, keeps, strict=True) if not keep
    )
    assert COST.price(found.kept, found.predicate.ranges) <= nothing
    assert all(len(term.ranges) <= most for group in found.predicate.groups for term in group)


def test_a_key_only_delete_uses_the_key_and_the_rest_the_time() -> None:
    # Files in order of time; keys start anywhere in a file but lie within a tenth of them.
    starts = np.arange(100)
    fragments = {
        "at": plain(pa.int64(), [(i * 10, i * 10 + 9, 10**8) for i in starts]),
        "key": plain(pa.int64(), [(i // 10 * 1000, i // 10 * 1000 + 999, 10**8) for i in starts]),
    }
    batch = pa.table({"at": [995, 996, None], "key": [9100, 9200, 3500]})
    found = plan_predicate(group_rows(batch, ["key"]), fragments)
    assert found.predicate.sql("t") == (
        "(((t.`at` between 995L and 996L or t.`at` is null)) or ((t.`key` = 3500L)))"
    )
    assert found.kept.files == 11


def test_two_columns_prune_more_than_one() -> None:
    # A file for each pair of a day and a hash: either column alone leaves ten of a hundred.
    pairs = list(itertools.product(range(10), range(10)))
    fragments = {
        "at": plain(pa.int64(), [(i * 10, i * 10 + 9, 10**8) for i, _ in pairs]),
        "key": plain(pa.int64(), [(j * 10, j * 10 + 9, 10**8) for _, j in pairs]),
    }
    found = plan_predicate(group_rows(pa.table({"at": [55], "key": [33]}), ["key"]), fragments)
    assert [[t.column for t in group] for group in found.predicate.groups] == [["at", "key"]]
    assert found.kept.files == 1


def test_no_range_is_spent_on_files_that_another_group_needs() -> None:
    fragments = {
        "at": plain(pa.int64(), [(i * 10, i * 10 + 9, 10**8) for i in range(100)]),
        "key": plain(pa.int64(), [(i // 50, i // 50, 10**8) for i in range(100)]),
    }
    batch = pa.table({"at": [5, 205, 405, 905, None], "key": [0, 0, 0, 1, 0]})
    found = plan_predicate(group_rows(batch, ["key"]), fragments)
    ranges = {term.column: len(term.ranges) for group in found.predicate.groups for term in group}
    assert (ranges, found.kept.files) == ({"at": 2, "key": 1}, 51)


def test_a_batch_of_nothing_and_a_group_that_needs_everything() -> None:
    fragments = {"at": plain(pa.int64(), [(0, 9, 10**9), (10, 19, 10**9)])}
    nothing = plan_predicate(group_rows(pa.table({"at": pa.array([], pa.int64())}), []), fragments)
    assert (nothing.predicate.sql(), nothing.kept.files) == ("false", 0)
    # A row without its only column may match any row.
    every = plan_predicate(group_rows(pa.table({"at": [5, None]}), []), fragments)
    assert (every.predicate.sql(), every.kept.files) == ("true", 2)


LITERAL = re.compile(
    r"cast\(x'(?:[0-9a-f]{2})*' as string\)|cast\('(?:nan|-?inf)' as (?:double|float)\)"
    r"|(?:date|timestamp|timestamp_ntz)'[-+0-9:. ]*(?: UTC)?'|'[A-Za-z0-9 _.:/+@-]*'"
    r"|-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?(?:BD|[YSLFD])?(?![0-9A-Za-z_'])"
)


@given(data=st.data(), name=st.sampled_from(sorted(TYPES)), column=st.text(min_size=1, max_size=8))
@examples(150)
def test_no_value_and_no_name_changes_the_statement(
    data: st.DataObject, name: str, column: str
) -> None:
    kind, one = TYPES[name]
    drawn = data.draw(st.lists(st.tuples(one, one), min_size=1, max_size=3))
    lo, hi = (pa.array(list(side), kind, from_pandas=False) for side in zip(*drawn, strict=True))
    ranges = Ranges(lo, hi, np.ones(len(lo), dtype=np.int64))
    sql = Predicate(((Term(column, ranges, True),),)).sql("t")
    if sql == "true":
        assert any(value != value for value in hi.to_pylist())
        return
    quoted = "t.`" + column.replace("`", "``") + "`"
    # Name by name and literal by literal nothing is left but the form.
    form = LITERAL.sub("?", sql.replace(quoted, "c"))
    terms = re.fullmatch(r"\(\(\((.*) or c is null\)\)\)", form)
    assert terms, sql
    assert len(terms[1].split(" or ")) == len(lo)
    assert all(term in ("c = ?", "c between ? and ?") for term in terms[1].split(" or ")), sql
