"""The oracle agrees with itself, and knows the cases on which merges go wrong."""

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from oracle import flights as oracle
from oracle import runways
from oracle.flights import (
    COLUMNS,
    REASONS,
    Delete,
    Merged,
    RejectedError,
    assert_same,
    parse,
    parse_line,
    replay_duckdb,
    replay_pandas,
)
from unit.demo.conftest import of_january

from alluvium.demo.flights import Delivery, replay_flights

IMAGE = {
    "year": 2013, "month": 2, "day": 28, "carrier": "UA", "flight": 7, "origin": "EWR",
    "dest": "IAH", "tailnum": None, "distance": 1400, "sched_dep_time": 2355,
    "sched_arr_time": 819, "dep_delay": None, "arr_time": None, "arr_delay": None,
    "air_time": None, "status": "scheduled",
}  # fmt: skip
KEY = {name: IMAGE[name] for name in ("year", "month", "day", "carrier", "flight", "origin")}


def event(op: str, lsn: int, ts_ms: int = 1000, **changes: object) -> str:
    image = (KEY if op == "d" else IMAGE) | changes
    before, after = (image, None) if op == "d" else (None, image)
    value = {"op": op, "ts_ms": ts_ms, "source": {"lsn": lsn}, "before": before, "after": after}
    return json.dumps(value)


@pytest.fixture(scope="module", autouse=True)
def _parse_once() -> Iterator[None]:
    """The replays read the same files again and again."""
    parsed = lru_cache(oracle.parse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "parse", lambda files: parsed(tuple(files)))
        yield


# Days, and landed files of a batch: the batches are as many.
LENGTHS = [pytest.param((5, 8), marks=pytest.mark.slow), (3, 6)]


@pytest.fixture(scope="module", params=LENGTHS, ids="{0[0]} days".format)
def batches(
    request: pytest.FixtureRequest,
    month: pd.DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[list[Path]]:
    days, count = request.param
    landing = tmp_path_factory.mktemp("landing")
    with pytest.MonkeyPatch.context() as patch:
        of_january(month, patch)
        replay_flights(landing, days, None, Delivery(late_rate=0.05, duplicate_rate=0.05))
    files = sorted(landing.rglob("*.jsonl"))
    return [files[start : start + count] for start in range(0, len(files), count)]


@pytest.fixture(scope="module")
def by_duckdb(batches: list[list[Path]]) -> list[Merged]:
    """After every batch, with soft deletes."""
    return list(replay_duckdb(batches))


@pytest.mark.parametrize("delete", ["soft", "hard"])
def test_duckdb_equals_pandas_after_every_batch(
    batches: list[list[Path]], by_duckdb: list[Merged], delete: Delete
) -> None:
    found = by_duckdb if delete == "soft" else replay_duckdb(batches, delete)
    results = list(zip(found, replay_pandas(batches, delete), strict=True))
    assert len(results) == len(batches) > 10
    for one, other in results:
        pd.testing.assert_frame_equal(one.live, other.live)
        pd.testing.assert_frame_equal(one.tombstones, other.tombstones)
    assert all(len(a.live) < len(b.live) for (a, _), (b, _) in pairwise(results))
    assert (len(results[-1][0].tombstones) > 0) == (delete == "soft")


def test_the_table_does_not_depend_on_the_batches(
    batches: list[list[Path]], by_duckdb: list[Merged]
) -> None:
    many = by_duckdb[-1]
    *_, one = replay_duckdb([[file for batch in batches for file in batch]])
    pd.testing.assert_frame_equal(many.live, one.live)
    pd.testing.assert_frame_equal(many.tombstones, one.tombstones)


def test_every_line_is_parsed_or_rejected(batches: list[list[Path]]) -> None:
    files = [file for batch in batches for file in batch]
    events, rejected = parse(files)
    assert len(events) + len(rejected) == sum(len(f.read_text().splitlines()) for f in files)
    assert set(rejected["reason"]) <= set(REASONS)


def one_row(landing: Path, delete: Delete, *batches: list[str]) -> Iterator[tuple[int, int]]:
    """Rows and tombstones after each batch of lines, the same from both replays."""
    files = []
    for number, lines in enumerate(batches):
        files.append([landing / f"{number}.jsonl"])
        files[-1][0].write_text("\n".join(lines) + "\n")
    for one, other in zip(replay_duckdb(files, delete), replay_pandas(files, delete), strict=True):
        pd.testing.assert_frame_equal(one.live, other.live)
        pd.testing.assert_frame_equal(one.tombstones, other.tombstones)
        yield len(one.live), len(one.tombstones)


def test_a_late_update_resurrects_after_a_hard_delete_only(tmp_path: Path) -> None:
    story = [event("c", 1)], [event("d", 3)], [event("u", 2)]
    assert list(one_row(tmp_path, "soft", *story)) == [(1, 0), (0, 1), (0, 1)]
    assert list(one_row(tmp_path, "hard", *story)) == [(1, 0), (0, 0), (1, 0)]


def test_a_newer_event_revives_a_tombstone(tmp_path: Path) -> None:
    story = [event("d", 3)], [event("c", 4)]
    assert list(one_row(tmp_path, "soft", *story)) == [(0, 1), (1, 0)]


def test_ties_of_lsn_go_to_the_later_ts_ms(tmp_path: Path) -> None:
    lines = [event("c", 1, 1000, status="a"), event("c", 1, 1002, status="c")]
    late = [event("c", 1, 1001, status="b")]
    assert list(one_row(tmp_path, "soft", lines, late)) == [(1, 0), (1, 0)]
    *_, table = replay_duckdb([[tmp_path / "0.jsonl"], [tmp_path / "1.jsonl"]])
    assert table.live["status"].tolist() == ["c"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "invalid_json"),
        ("[]", "invalid_json"),
        (event("c", 1)[:-3], "invalid_json"),
        (event("t", 1), "truncate"),
        (event("x", 1), "unknown_op"),
        (event("c", 1).replace('"lsn": 1', '"lsn": null'), "missing_order"),
        (event("c", 1).replace('"lsn": 1', '"lsn": 1.5'), "missing_order"),
        (event("c", 1).replace("1000", str(2**63)), "missing_order"),
        ('{"op":"u","ts_ms":1,"source":{"lsn":1},"before":{},"after":null}', "missing_image"),
        ('{"op":"d","ts_ms":1,"source":{"lsn":1},"before":null,"after":{}}', "missing_image"),
        (event("d", 1, origin=None), "missing_field"),
        (event("c", 1, sched_dep_time=None), "missing_field"),
        (event("c", 1, flight="UA-7"), "wrong_type"),
        (event("c", 1, distance=2**31), "wrong_type"),
        (event("d", 1, day=29), "invalid_date"),
        (event("c", 1, sched_dep_time=2400), "invalid_date"),
        (event("c", 1, sched_dep_time=1260), "invalid_date"),
    ],
)
def test_reasons(line: str, reason: str) -> None:
    with pytest.raises(RejectedError, match=f"^{reason}$"):
        parse_line(line)


def test_columns_of_an_event() -> None:
    row = parse_line(event("u", 5, 6, dep_delay=10, status="departed"))
    assert list(row) == ["op", *COLUMNS]
    assert str(row["flight_date"]) == "2013-02-28"
    assert str(row["sched_dep_at"]) == "2013-02-28 23:55:00"
    assert str(row["dep_at"]) == "2013-03-01 00:05:00"
    assert (row["lsn"], row["ts_ms"], row["status"]) == (5, 6, "departed")


def test_assert_same_takes_what_engines_return(batches: list[list[Path]]) -> None:
    *_, table = replay_pandas(batches[:3])
    other = table.live.sample(frac=1, random_state=1).assign(_deleted=False)
    other["sched_dep_at"] = other["sched_dep_at"].dt.tz_localize("UTC")
    other["flight_date"] = other["flight_date"].dt.date
    other["air_time"] = other["air_time"].astype("float64")
    assert_same(table.live, other)
    other.loc[other.index[0], "distance"] += 1
    with pytest.raises(AssertionError):
        assert_same(table.live, other)


def test_runways_groups_lead_to_the_final_table(amount: str) -> None:
    groups = runways.groups(12)
    assert len(groups) == 12
    expected = runways.final().to_pandas(types_mapper=pd.ArrowDtype)
    # All in one as well.
    for batches in (groups, [pa.concat_tables(groups)]):
        state = pd.DataFrame()
        for group in batches:
            rows = group.to_pandas(types_mapper=pd.ArrowDtype)
            newest = rows.sort_values("version").drop_duplicates("id", keep="last").set_index("id")
            state = pd.concat([state[~state.index.isin(newest.index)], newest[newest["op"] != "d"]])
        actual = state.sort_index().reset_index()[expected.columns]
        pd.testing.assert_frame_equal(actual, expected)
    assert sum(group.num_rows for group in groups) == len(runways.changes()) > 4000
    assert [group.num_rows for group in runways.groups(1)] == [len(runways.changes())]
    if amount == "all":
        assert len(runways.changes()) == 170_675
        assert len(expected) == 48_184


def test_the_runways_are_all_there() -> None:
    changes = runways.changes()
    assert len(changes) == 170_675
    last = changes.drop_duplicates("id", keep="last")
    assert (last["op"] != "d").sum() == 48_184
