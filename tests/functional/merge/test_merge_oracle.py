"""Random feeds, batch by batch, for every way to plan ranges in SQL and to merge: the table equals
a replay."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional.delta_rs import folder_of

pytestmark = pytest.mark.spark

ALL: dict[str, dict[str, Any]] = {
    "none": {"ranges": False},
    "min_max": {"ranges": {"column": "at", "method": "min_max"}},
    "gaps": {"ranges": {"column": "at", "method": "gaps", "k": 4}},
    "strings": {"ranges": {"column": "v", "method": "gaps", "k": 5}},
    "keys": {"ranges": {"column": "id", "method": "gaps", "k": 3}},
    "merge_into": {"ranges": {"column": "at", "method": "gaps", "k": 4}, "engine": "merge_into"},
}
# Few batches are merged by what differs most: no ranges, ranges of texts and of keys, and the other
# engine; the table of the first one is there. The README's feed in `project/test_package.py` is
# drawn too, begins with nothing, and has `min_max`.
FEW = ("none", "strings", "keys", "merge_into")
BODY = """
select id, op, lsn, at, v, _batch_through, _batch_after
from {{{{ alluvium.new_events(source('raw', 'events'), '{name}') }}}}
"""


@pytest.fixture(params=[2, pytest.param(12, marks=pytest.mark.slow)])
def batches(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def settings_of(batches: int) -> dict[str, dict[str, Any]]:
    """By model."""
    return ALL if batches > 2 else {name: ALL[name] for name in FEW}


@pytest.fixture
def project(
    make_project: Callable[..., Any], batches: int, settings_of: dict[str, dict[str, Any]]
) -> Any:
    models = {}
    for name, settings in settings_of.items():
        meta = {"order_by": ["lsn"], "delete_when": "op = 'd'"} | settings
        models[f"models/{name}.sql"] = (
            "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',"
            f" meta={{'alluvium_merge': {meta}}}) }}}}" + BODY.format(name=name)
        )
    sources = "sources: [{name: raw, schema: '{{ target.schema }}', tables: [{name: events}]}]\n"
    return make_project(f"oracle_{batches}", {"models/sources.yml": sources, **models})


def immutable(key: int) -> tuple[str, str]:
    """What never changes for a key: its time and its ObjectId."""
    at = dt.datetime(2020 + key % 4, 1 + key % 12, 1 + key % 28, key % 24, 0, 0, key)
    return at.isoformat(sep=" "), f"{0x5E000000 + key * 70001:08x}'\\$" + f"{key:016x}"


def replay(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    frame = pd.DataFrame(events, columns=["id", "op", "lsn", "at", "v"])
    newest = frame.sort_values("lsn").groupby("id").tail(1)
    alive = newest[newest["op"] != "d"].sort_values("id")
    return list(alive[["id", "lsn"]].itertuples(index=False, name=None))


def begin(project: Any, name: str, events: list[tuple[Any, ...]]) -> None:
    """A table as the first events leave it, in three files by time; it has no progress.

    The next run reads all events, old ones too.
    """
    project.session.sql(
        f"create table {project.schema}.{name} (id bigint, op string, lsn bigint, at timestamp,"
        " v string, _deleted boolean) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    rows: dict[int, dict[str, Any]] = {}
    for key, op, lsn, at, v in sorted(events, key=lambda event: event[2]):
        row = {"id": key, "op": op, "lsn": lsn, "_deleted": op == "d"}
        values = {"at": at and dt.datetime.fromisoformat(at + "+00:00"), "v": v}
        # A tombstone keeps what the row had.
        rows[key] = {**values, **rows.get(key, {}), **row} if op == "d" else row | values
    ordered = sorted(rows.values(), key=lambda row: str(row["at"]))
    columns = pa.schema(project.table(name).schema())
    folder = folder_of(project.home, project.schema, name)
    third = len(ordered) // 3 + 1
    for first in range(0, len(ordered), third):
        some = pa.Table.from_pylist(ordered[first : first + third], columns)
        write_deltalake(folder, some, mode="append")


@pytest.mark.proves("merge", on="embedded")
def test_table_equals_the_replay_after_every_batch(
    project: Any, batches: int, settings_of: dict[str, dict[str, Any]]
) -> None:
    seed = 20240229
    print("seed", seed)
    rng = random.Random(seed)
    events: list[tuple[Any, ...]] = []
    lsn = 0
    for batch in range(batches):
        rows: list[tuple[Any, ...]] = []
        for _ in range(300):
            lsn += 1
            key = rng.randrange(400)
            if rng.random() < 0.15:
                rows.append((key, "d", lsn, None, None))
            else:
                rows.append((key, rng.choice("cu"), lsn, *immutable(key)))
        late = [row for row in rows if rng.random() < 0.05]
        twice = [rng.choice(rows) for _ in range(5)]
        now = [row for row in rows if row not in late] + twice
        rng.shuffle(now)
        project.append_events(batch * 3, *now)
        events += now
        is_given = batches == 2 and batch == 0
        if is_given:
            for name in settings_of:
                begin(project, name, events)
        else:
            project.dbt("run")
        expected = replay(events)
        for name, settings in settings_of.items():
            table = project.read(
                f"select id, lsn from {{s}}.{name} where not coalesce(_deleted, false) order by id"
            )
            assert list(table.itertuples(index=False, name=None)) == expected, (name, batch)
            all_rows = project.read(f"select count(*) n, count(distinct id) d from {{s}}.{name}")
            assert all_rows["n"][0] == all_rows["d"][0], (name, batch)
            used = settings.get("engine", "one_commit")
            assert is_given or project.figures(name)["engine"] == used, (name, batch)
        # They come with the next batch, older than what is there.
        project.append_events(batch * 3 + 1, *(late or [rows[0]]))
        events += late or [rows[0]]
