"""Which layout filters ask for: by the rules in words, and by counting the files that they keep."""

from __future__ import annotations

from datetime import date
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from alluvium.advise.report import suggestion_lines
from alluvium.plan.compaction.daily import fragments_a_day
from alluvium.plan.fragment import Fragments
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.plan.layout.suggestion import (
    EQUALITY,
    JOINED,
    OTHER,
    RANGE,
    SUBQUERY,
    Shape,
    Suggestion,
    suggest,
)

TYPES = {
    "id": "bigint",
    "service": "string",
    "status": "int",
    "host": "string",
    "amount": "decimal(10,2)",
    "logged_at": "timestamp",
    "tags": "map<string,string>",
    "is_new": "boolean",
}
BOUNDED = ["id", "service", "status", "host", "amount", "logged_at"]


def table(**given: Any) -> Shape:
    return Shape(**{"types": TYPES, "bounded": BOUNDED} | given)


def of(table: Shape, *filters: dict[str, str | set[str]]) -> Suggestion:
    """The suggestion for statements s0, s1, … that use columns so."""
    uses = {
        f"s{place}": {
            column: {kinds} if isinstance(kinds, str) else kinds for column, kinds in one.items()
        }
        for place, one in enumerate(filters)
    }
    return suggest(table, uses)


def said(found: Suggestion, start: str) -> str:
    """The one reason that begins so."""
    (reason,) = [one for one in found.reasons if one.startswith(start)]
    return reason


def test_columns_with_equalities_come_first_by_number_and_one_with_bounds_behind_them() -> None:
    found = of(
        table(),
        {"service": EQUALITY},
        {"service": EQUALITY, "status": EQUALITY},
        {"service": EQUALITY, "status": EQUALITY, "amount": RANGE},
        {"service": EQUALITY, "host": EQUALITY, "id": RANGE},
        {"service": EQUALITY, "amount": RANGE},
    )
    # Of the two with bounds only the first would help.
    assert found.block == {"sort_by": ["service", "status", "host", "amount"]}
    assert said(found, "sort_by: service") == (
        "sort_by: service: 5 of 5 statements filter it, 5 by equality"
    )
    assert "2 of 5 statements filter it, by range" in said(found, "sort_by: amount")
    assert said(found, "curve").startswith("curve: lexical, as 5 of 5 statements")
    assert found.counts["status"] == {EQUALITY: 2, RANGE: 0, OTHER: 0, JOINED: 0}


def test_equals_go_by_all_of_their_filters_then_by_the_order_of_the_table() -> None:
    both = {"status": EQUALITY, "service": EQUALITY}
    assert of(table(), both).block == {"sort_by": ["service", "status"]}
    assert of(table(), both, {"status": RANGE}).block == {"sort_by": ["status", "service"]}


def test_no_more_than_five_columns() -> None:
    types = {f"c{n}": "int" for n in range(9)}
    found = of(table(types=types, bounded=list(types)), dict.fromkeys(types, EQUALITY))
    assert found.block == {"sort_by": ["c0", "c1", "c2", "c3", "c4"]}
    found = of(
        table(types=types, bounded=list(types)),
        {one: EQUALITY if one != "c0" else RANGE for one in types},
    )
    assert found.block == {"sort_by": ["c1", "c2", "c3", "c4", "c0"]}


@pytest.mark.parametrize(("first", "curve"), [(6, None), (5, "zorder")])
def test_a_z_order_where_no_first_column_serves_enough(first: int, curve: str | None) -> None:
    filters: list[dict[str, Any]] = [{"service": EQUALITY}] * first
    filters += [{"host": EQUALITY}] * 3 + [{"status": RANGE}] * (7 - first)
    found = of(table(), *filters)
    assert found.block is not None
    assert found.block.get("curve") == curve
    assert said(found, "curve").endswith("(wanted: 60%)" if curve else "statements filter service")
    if curve:
        assert found.block["sort_by"] == ["service", "host", "status"]


def test_a_z_order_says_that_it_leaves_out_what_buckets_serve() -> None:
    filters: list[dict[str, Any]] = [{"logged_at": RANGE, "service": EQUALITY}] * 3
    filters += [{"host": EQUALITY}, {"status": EQUALITY}]
    found = of(table(), *filters)
    assert found.block == {
        "sort_by": ["status", "host"],
        "curve": "zorder",
        "bucket_by": {"column": "logged_at", "window": "day"},
    }
    assert said(found, "sort_by").startswith(
        "sort_by: 2 of 2 statements filter one of these columns; those that buckets serve are not"
        " counted;"
    )


def test_a_z_order_has_no_column_that_others_stand_for() -> None:
    # Whoever filters by service filters by status too.
    filters: list[dict[str, Any]] = [{"service": EQUALITY, "status": EQUALITY}] * 5
    filters += [{"host": EQUALITY, "status": EQUALITY}] * 2 + [{"host": RANGE}] * 5
    found = of(table(), *filters)
    assert found.block == {"sort_by": ["status", "host"], "curve": "zorder"}


def test_a_column_that_most_ask_for_by_bounds_comes_first() -> None:
    filters = [{"amount": RANGE, "host": EQUALITY}, {"amount": RANGE}, {"amount": RANGE}]
    assert of(table(), *filters).block == {"sort_by": ["amount", "host"]}
    # Two of three are enough, three of six are not.
    filters = [{"amount": RANGE}, {"amount": RANGE}, {"host": EQUALITY}]
    assert of(table(), *filters).block == {"sort_by": ["amount", "host"]}
    filters += [{"host": EQUALITY}, {"amount": RANGE}, {"id": EQUALITY}]
    block = of(table(), *filters).block
    assert block == {"sort_by": ["amount", "host", "id"], "curve": "zorder"}


def test_a_time_that_most_filter_makes_buckets_and_comes_last() -> None:
    filters = [
        {"logged_at": RANGE, "service": EQUALITY},
        {"logged_at": RANGE, "amount": RANGE},
        {"logged_at": RANGE},
        {"service": EQUALITY},
    ]
    found = of(table(), *filters)
    # The one statement that buckets do not serve asks for the service.
    assert found.block == {
        "sort_by": ["service", "amount", "logged_at"],
        "bucket_by": {"column": "logged_at", "window": "day"},
    }
    assert said(found, "bucket_by").startswith("bucket_by: 3 of 4 statements filter logged_at")
    # Half of them are not most, and without buckets the time is a column like others.
    found = of(table(), *filters, {"service": EQUALITY}, {"service": EQUALITY})
    assert found.block == {"sort_by": ["service", "logged_at"]}
    # A table whose rows change has no quiet bucket; that of a Python model cannot make one.
    for other in (table(updates=True), table(generates=False)):
        block = of(other, *filters).block
        assert block is not None
        assert "bucket_by" not in block
    assert "merges change rows" in said(of(table(updates=True), *filters), "bucket_by: none")


@pytest.mark.parametrize(
    ("daily", "window", "said_of_it"),
    [
        (4.25, "day", "a day fills 4.2 full fragments"),
        (1.0, "day", "a day fills 1.0 full fragments"),
        (0.2, "week", "a week fills 1.4 full fragments"),
        (0.04, "month", "a month fills 1.2 full fragments"),
        (0.01, None, "a month fills 0.30 full fragments"),
    ],
)
def test_a_bucket_fills_a_fragment(daily: float, window: str | None, said_of_it: str) -> None:
    found = of(table(fragments_a_day={"logged_at": daily}), {"logged_at": RANGE})
    assert found.block is not None
    assert (found.block.get("bucket_by") or {}).get("window") == window
    assert found.block["sort_by"] == ["logged_at"]
    assert said_of_it in said(found, "bucket_by")


def test_what_falls_on_a_day() -> None:
    sizes = pa.table(
        {"size": [100, 200, 300], "rows": [10, None, 30], "nulls": pa.nulls(3, pa.int64())}
    )

    def files(bounds: Any) -> Fragments:
        """With these bounds of a column, the lower ones and the upper."""
        return Fragments.read(sizes.append_column("lo", bounds).append_column("hi", bounds))

    dates = files(pa.array([date(2024, 3, day) for day in (1, 2, 10)]))
    layout = Layout((), target_rows=20, target_bytes=1000)
    # 10 days, 2 full by rows and 0.6 by bytes.
    assert fragments_a_day(dates, layout) == pytest.approx(0.2)
    assert fragments_a_day(dates, Layout((), target_bytes=30)) == pytest.approx(2)
    kind = pa.timestamp("us", "UTC")
    times = files(pa.array([0, None, 4 * 86_400_000_000], kind))
    assert fragments_a_day(times, layout) == pytest.approx(0.5)
    assert fragments_a_day(files(pa.array([None] * 3, kind)), layout) is None
    # All within a day is a day; years that Python has none of are no obstacle.
    one = fragments_a_day(files(pa.array([2**62] * 3, kind)), layout)
    assert one == pytest.approx(2)


def test_partitions_are_no_part_of_the_sort_key() -> None:
    types = {"day": "date", "region": "string", **TYPES}
    parted = table(types=types, partitions=["day", "region"])
    found = of(parted, {"day": EQUALITY, "service": EQUALITY}, {"day": RANGE, "region": EQUALITY})
    assert found.block == {
        "sort_by": ["service"],
        "bucket_by": {"column": "day", "window": "day"},
    }
    assert "needs --full-refresh" not in said(found, "bucket_by")
    assert said(found, "day, region: not in sort_by").endswith("partitioned by it")
    found = of(table(types=types, partitions=["region"], key=["ID"]), {"region": EQUALITY})
    assert found.block == {"sort_by": ["id"]}
    found = of(table(types=types, partitions=["region"]), {"region": EQUALITY})
    assert (found.filtering, found.block) == (1, None)


def test_columns_that_skip_no_file_are_left_out_with_the_reason() -> None:
    found = of(
        table(),
        {"service": {EQUALITY, OTHER}, "tags": EQUALITY, "is_new": EQUALITY},
        {"service": EQUALITY, "logged_at": OTHER, "id": {JOINED}},
        {"amount": {RANGE, SUBQUERY}, "service": EQUALITY},
    )
    assert found.block == {"sort_by": ["service", "amount"]}
    assert "type map<string,string>" in said(found, "tags: not in sort_by")
    assert "no bounds" in said(found, "is_new: not in sort_by")
    assert "filtered only in ways that skip no file" in said(found, "logged_at")
    assert "only joined on" in said(found, "id")
    assert said(found, "amount").startswith("amount: 1 of 1 statements compare it with a subquery")
    assert not [one for one in found.reasons if one.startswith("service: ")]


@pytest.mark.parametrize("filters", [[], [{"logged_at": OTHER}, {}]])
def test_nothing_filters_it(filters: list[dict[str, Any]]) -> None:
    found = of(table(), *filters)
    assert (found.block, found.filtering, len(found.readers)) == (None, 0, len(filters))
    assert said(found, "nothing filters it").endswith("files few")
    found = of(table(key=["host", "tags", "ID"]), *filters)
    assert found.block == {"sort_by": ["host", "id"]}
    assert of(table(key=["id"], block={"sort_by": "host"}), *filters).block is None


@pytest.mark.parametrize(
    ("block", "agrees"),
    [
        ({"sort_by": ["SERVICE", "status"]}, True),
        ({"sort_by": ["service", "status", "id"], "curve": "lexical"}, True),
        ({"sort_by": "service"}, False),
        ({"sort_by": ["status", "service"]}, False),
        ({"sort_by": ["service", "status"], "curve": "zorder"}, False),
    ],
)
def test_what_the_model_has_is_compared_and_kept(block: dict[str, Any], agrees: bool) -> None:
    given = block | {"fan_in": 16, "retain": None}
    filters: list[dict[str, Any]] = [{"service": EQUALITY, "status": EQUALITY}]
    found = of(table(block=given), *filters, {"service": EQUALITY})
    assert found.block == {"sort_by": ["service", "status"], "fan_in": 16, "retain": None}
    last = found.reasons[-1]
    assert last.split()[4] == ("agrees" if agrees else "differs:")
    assert agrees or last.endswith(", without bucket_by")


def test_buckets_that_a_table_has_stay() -> None:
    block = {"sort_by": "id", "bucket_by": {"column": "LOGGED_AT", "window": "week"}}
    found = of(table(block=block, updates=True), {"service": EQUALITY})
    assert found.block == {
        "sort_by": ["service", "logged_at"],
        "bucket_by": {"column": "LOGGED_AT", "window": "week"},
    }


KINDS = st.sets(st.sampled_from([EQUALITY, RANGE, OTHER, JOINED]), min_size=1)
USES = st.dictionaries(
    st.text("abc", min_size=1), st.dictionaries(st.sampled_from(list(TYPES)), KINDS), max_size=6
)


@given(USES, st.sets(st.sampled_from(BOUNDED)), st.booleans())
def test_what_is_suggested_is_a_layout_that_the_table_can_have(
    uses: dict[str, dict[str, set[str]]], partitions: set[str], updates: bool
) -> None:
    one = table(partitions=sorted(partitions), updates=updates, key=["id"])
    found = suggest(one, uses)
    if found.block is None:
        return
    layout = parse_layout("logs", found.block)
    assert set(layout.sort_by) <= set(BOUNDED) - partitions
    assert len(layout.sort_by) <= 5
    assert found.block == suggest(one, dict(reversed(uses.items()))).block


def test_no_other_order_of_the_columns_keeps_fewer_files() -> None:
    # 200,000 rows in 400 files, and the bounds that the log would have of them.
    rng = np.random.default_rng(7)
    rows = {
        "service": rng.integers(0, 8, 200_000),
        "status": rng.integers(0, 5, 200_000),
        "amount": rng.integers(0, 10_000, 200_000),
    }
    queries: list[dict[str, tuple[int, int]]] = [
        {"service": (7, 7)},
        {"service": (2, 2)},
        {"service": (3, 3), "status": (2, 2)},
        {"service": (5, 5), "status": (1, 1), "amount": (100, 400)},
    ]

    def kept(order: tuple[str, ...]) -> int:
        files = np.array_split(np.lexsort([rows[one] for one in reversed(order)]), 400)
        bounds = {one: [(v[f].min(), v[f].max()) for f in files] for one, v in rows.items()}
        return sum(
            all(bounds[one][f][0] <= hi and lo <= bounds[one][f][1] for one, (lo, hi) in q.items())
            for q in queries
            for f in range(400)
        )

    found = of(
        table(),
        *({c: EQUALITY if lo == hi else RANGE for c, (lo, hi) in q.items()} for q in queries),
    )
    assert found.block is not None
    orders = {order: kept(order) for n in (1, 2, 3) for order in permutations(rows, n)}
    assert orders[tuple(found.block["sort_by"])] == min(orders.values())
    assert max(orders.values()) > 5 * min(orders.values())


def test_the_yaml_can_be_pasted() -> None:
    types = {"on": "string", "a: b": "timestamp", "ä'`": "int"}
    strange = table(types=types, bounded=list(types))
    filters = {"on": EQUALITY, "a: b": RANGE, "ä'`": EQUALITY}
    found = of(strange, filters, filters)
    text = list(suggestion_lines("logs", found))
    assert text[0] == "logs: read by 2 statements, 2 with filters that can skip files (s0, s1)"
    assert text[1].split() == ["column", "equality", "range", "other", "joined"]
    assert text[2].split() == ["on", "2", "-", "-", "-"]
    pasted = yaml.safe_load("\n".join(one for one in text if one.startswith("    ")))
    block = pasted["meta"]["alluvium_layout"]
    assert (
        block
        == found.block
        == {
            "sort_by": ["on", "ä'`", "a: b"],
            "bucket_by": {"column": "a: b", "window": "day"},
        }
    )
    assert [one for one in text if one.startswith("        sort_by: [")]


def test_many_statements_are_counted_and_not_listed() -> None:
    found = of(table(), *[{"service": EQUALITY}] * 10)
    assert next(suggestion_lines("logs", found)).endswith("s7, 2 more)")
    assert list(suggestion_lines("logs", of(table()))) == ["logs: no statement reads it"]
