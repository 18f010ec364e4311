"""What the benchmark of compaction is made of: the events, the bound, the ledger, the floor."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from compacting import events, planning, queries, rewriting, tables
from compacting.ledger import Ledger
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples
from support.playground import huffman

from alluvium.plan.compaction.compaction_plan import plan


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.concat_tables([events.events(1, file, 1000) for file in range(100)])


def test_a_seed_gives_the_same_events_and_another_one_others() -> None:
    assert events.events(1, 3, 50).equals(events.events(1, 3, 50))
    for other in (events.events(2, 3, 50), events.events(1, 4, 50)):
        assert not events.events(1, 3, 50).equals(other)


def test_services_are_200_after_zipf(table: pa.Table) -> None:
    counts = Counter(table["service"].to_pylist())
    assert len(set(events.service_names())) == events.SERVICES == 200
    assert set(counts) <= set(events.service_names())
    by_rank = [counts[name] for name in events.service_names()]
    # Rank r has 1 / r ** 1.1 of what the first has.
    for rank in (2, 5, 10):
        assert by_rank[rank - 1] / by_rank[0] == pytest.approx(rank**-1.1, rel=0.05)
    assert sum(by_rank[100:]) < 0.2 * len(table)


def test_the_other_columns_have_the_values_that_are_stated(table: pa.Table) -> None:
    distinct = {name: set(table[name].to_pylist()) for name in ("status", "env", "host")}
    assert {name: len(values) for name, values in distinct.items()} == {
        "status": 5, "env": 4, "host": 2_000,
    }  # fmt: skip
    assert table.schema == events.SCHEMA


def test_rows_are_late_and_a_few_of_them_very_late() -> None:
    file = 50
    logged = events.events(1, file, 20_000)["logged_at"].cast(pa.int64()).to_numpy()
    arrived = events.START + (file + 1) * events.FILE_TIME
    late = arrived - logged
    assert late.min() >= 0
    assert np.median(late) < 2 * events.FILE_TIME
    assert 0.005 < np.mean(late > 10 * events.FILE_TIME) < events.VERY_LATE_SHARE


def test_key_numbers_are_in_the_order_of_the_sort_keys(table: pa.Table) -> None:
    part = events.events(1, 0, 1000)
    numbers = events.key_numbers(1, 0, 1000)
    keys = [tuple(row[name] for name in events.SORT_BY) for row in part.to_pylist()]
    by_number = [keys[place] for place in np.argsort(numbers, kind="stable")]
    # Times within a tenth of a second are one number.
    for one, two in itertools.pairwise(by_number):
        assert one[:3] <= two[:3]
        if one[:3] == two[:3]:
            assert (one[3] - two[3]).total_seconds() < 0.1


def least(sizes: tuple[int, ...], fan_in: int, left: int) -> int:
    """Every way of merging them into so many, `fan_in` at a time or fewer."""
    if len(sizes) == left:
        return 0
    found = []
    for count in range(2, min(fan_in, len(sizes) - left + 1) + 1):
        for chosen in itertools.combinations(range(len(sizes)), count):
            merged = sum(sizes[place] for place in chosen)
            rest = [size for place, size in enumerate(sizes) if place not in chosen]
            found.append(merged + least((*rest, merged), fan_in, left))
    return min(found)


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    fan_in=st.integers(2, 4),
    left=st.integers(1, 3),
)
@examples(30)
def test_the_bound_is_the_least_of_all_ways(sizes: list[int], fan_in: int, left: int) -> None:
    left = min(left, len(sizes))
    assert huffman(sizes, fan_in, left) == least(tuple(sizes), fan_in, left)


def test_pairwise_rewrites_what_came_before_each_time() -> None:
    assert rewriting.naive_pairwise([5]) == 0
    assert rewriting.naive_pairwise([5, 3, 2]) == 8 + 10
    # As is known of 1,000 equal files.
    assert rewriting.naive_pairwise([1] * 1000) / 1000 == pytest.approx(500, abs=1)
    assert huffman([1] * 1000, 32) / 1000 == 2


@pytest.mark.parametrize(("rows", "fewest"), [(0, 0), (1, 1), (20, 1), (21, 2), (40, 2)])
def test_the_fewest_fragments_that_hold_so_many_rows(rows: int, fewest: int) -> None:
    assert queries.fewest(rows, 20) == fewest


def test_the_mix_asks_each_service_in_three_ways() -> None:
    mix = queries.mix(1000)
    assert Counter(query.kind for query in mix) == dict.fromkeys(
        ("service", "service + status", "service + env + window"), 8
    )
    name = events.service_names()[0]
    assert [query.sql() for query in mix[:3]] == [
        f"`service` = '{name}'",
        f"`service` = '{name}' and `status` = 200",
        f"`service` = '{name}' and `env` = 'prod' and `logged_at` between"
        " timestamp'2024-03-01 06:15:00.000000 UTC' and timestamp'2024-03-01 08:20:00.000000 UTC'",
    ]


def add(path: str, rows: int) -> dict[str, object]:
    return {"add": {"path": path, "size": 10 * rows, "stats": json.dumps({"numRecords": rows})}}


def test_the_ledger_counts_what_is_rewritten_and_not_what_lands_or_is_relabelled(
    tmp_path: Path,
) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    ledger = Ledger(tmp_path)
    commits = [
        [{"metaData": {}}],
        [add("a", 3), add("b", 4)],
        [{"remove": {"path": "a"}}, {"remove": {"path": "b"}}, add("c", 7)],
        [add("c", 7)],
        [add("d", 1)],
    ]
    for number, actions in enumerate(commits):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
        ledger.follow()
    assert set(ledger.live) == {"c", "d"}
    assert (ledger.commits, ledger.written) == (1, 1)
    assert (ledger.rows, ledger.bytes, ledger.bytes_written) == (7, 70, 70)


def test_files_are_added_with_the_statistics_that_they_have(tmp_path: Path) -> None:
    source = tables.log_events(tmp_path / "files", 3, 100)
    for add, rows in zip(source.adds, source.sizes, strict=True):
        stats = json.loads(add["stats"])
        for name in ("service", "status", "host"):
            [found] = duckdb.sql(
                f"select count(*), min({name}), max({name})"
                f" from read_parquet('{source.folder / add['path']}')"
            ).fetchall()
            bounds = (stats["minValues"][name], stats["maxValues"][name])
            assert found == (stats["numRecords"], *bounds) == (rows, *bounds)
            assert stats["nullCount"][name] == 0
        # Texts of more than 32 characters are cut off, and the upper bound is raised.
        low, high = (stats[name]["message"] for name in ("minValues", "maxValues"))
        [messages] = duckdb.sql(
            f"select min(message), max(message) from '{source.folder / add['path']}'"
        ).fetchall()
        assert (len(low), len(high)) == (32, 33)
        assert low <= messages[0] <= messages[1] <= high


def test_wikiticker_lands_whole_and_in_the_order_of_its_time(tmp_path: Path) -> None:
    source = tables.wikiticker(tmp_path / "files", 7)
    found = duckdb.sql(
        f"select count(*), min(time)::text from '{tmp_path}/files/*.parquet' group by filename"
        " order by filename"
    ).fetchall()
    assert [rows for rows, _ in found] == list(source.sizes)
    assert source.rows == 39_244
    assert [start for _, start in found] == sorted(start for _, start in found)
    arrived = [add["modificationTime"] for add in source.adds]
    assert arrived == sorted(arrived)


@pytest.mark.parametrize("state", planning.STATES)
def test_a_settled_table_needs_no_plan(state: str) -> None:
    due = state not in ("settled", "hourly")
    table = planning.fragments(1000, state)
    assert bool(plan(table, planning.STATES[state], planning.NOW)) == due


@pytest.mark.parametrize(("state", "inputs"), [("disjoint", 1), ("pairs", 2)])
def test_each_part_of_a_table_is_a_merge(state: str, inputs: int) -> None:
    table = planning.fragments(1000, state)
    found = plan(table, planning.STATES[state], planning.NOW)
    assert [len(group.inputs) for group in found.tasks] == [inputs] * (1000 // inputs)
    assert not found.relabels


def test_hourly_fragments_are_in_a_bucket_for_every_hour_of_a_year() -> None:
    table = planning.fragments(2 * 8760, "hourly")
    hours = Counter(zip(table["bucket"].to_pylist(), table["ends"].to_pylist(), strict=True))
    assert (len(hours), set(hours.values())) == (8760, {2})
