"""How long it takes to decide what to compact, mostly nothing."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.compact import run
from alluvium.delta.log import log
from alluvium.delta.rewrite import table_files
from alluvium.engine import jvm
from alluvium.marks import LAYOUT_TAG
from alluvium.plan.compaction.bucket import UNSORTED
from alluvium.plan.compaction.compaction_plan import plan
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.fragment import FRAGMENT_SCHEMA
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout
from compacting import events
from compacting.tables import create_sql

Result = dict[str, Any]
LAYOUT = Layout(events.SORT_BY, target_rows=1_000_000)
FULL_BYTES = 60_000_000
PLAN_BAR, NO_OP_BAR = 2.0, 0.150
PAUSED = "own commit"
# Hooks after which the JVM has compiled what they call.
_WARMING = 40
NOW = events.arrived_at(0)
_HOURS = 8760
# What `fragments` makes; in buckets, the layout has some as well.
STATES = {
    "settled": LAYOUT, "open": LAYOUT, "new": LAYOUT, "disjoint": LAYOUT, "pairs": LAYOUT,
    "hourly": replace(LAYOUT, bucket_column="logged_at", window="hour"),
}  # fmt: skip


def fragments(count: int, state: str) -> pa.Table:
    """Fragments of one bucket, or of one for every hour, by their state.

    settled: full, sorted and disjoint: nothing is to be done.
    open: settled but for a twentieth each of new files and of full ones in level 0.
    new: files that no compaction has written.
    disjoint: the same, but full, and disjoint by their first column.
    pairs: full and sorted, in level 0; each overlaps another one.
    hourly: settled, but in as many quiet buckets as a year has hours.
    """
    rng = np.random.default_rng(count)
    bounds = _keys(2 * count)
    fresh = np.zeros(count, dtype=bool)
    level = np.full(count, _roomy(count))
    if state == "open":
        fresh[rng.choice(count, count // 20, replace=False)] = True
        level[rng.choice(count, count // 20, replace=False)] = 0
    if state in ("new", "disjoint"):
        fresh[:] = True
    starts = 2 * np.arange(count)
    # In level 0 fragments reach over a tenth of all keys.
    ends = np.where(level == 0, np.minimum(starts + count // 5, 2 * count - 1), starts + 1)
    level[fresh] = UNSORTED
    if state == "pairs":
        level[:] = 0
        # Of each four keys one has the first three and the other the last three.
        starts = starts - np.arange(count) % 2
        ends = np.minimum(starts + 2, 2 * count - 1)
    small = fresh & (state != "disjoint")
    hours = np.arange(count) * _HOURS // count if state == "hourly" else None
    rows = []
    for place in range(count):
        new = bool(fresh[place])
        lo, hi = bounds[starts[place]], bounds[ends[place]]
        paid = FULL_BYTES
        hour = None if hours is None else int(hours[place])
        # The newest is over for a day.
        ends_at = None if hour is None else NOW - 86400.0 - 3600.0 * (_HOURS - 1 - hour)
        arrived = NOW - 60.0 if ends_at is None else ends_at
        tag = Tag(LAYOUT.sort_key, int(level[place]), lo, hi, arrived, paid, 0).text()
        rows.append(
            {
                "path": f"part-{place:06}-{uuid.UUID(int=place)}.snappy.parquet",
                "bucket": "" if hour is None else str(hour),
                "ends": ends_at,
                "bytes": FULL_BYTES // 1000 if small[place] else FULL_BYTES,
                "rows": 1000 if small[place] else 1_000_000,
                "deleted": 0,
                "written": NOW,
                "tag": None if new else tag,
                "lo": lo[:26] if new else None,
                "hi": hi[:26] if new else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=FRAGMENT_SCHEMA)


def _roomy(count: int) -> int:
    """The lowest level above 0 that has room for so many full fragments: level 0 has for 16."""
    return next(level for level in range(1, 99) if 16 * LAYOUT.growth**level >= count)


def _keys(count: int) -> list[str]:
    """So many sort keys of events, rising."""
    tables = [events.events(1, file, 1000) for file in range(-(-count // 1000))]
    every = pa.concat_tables(tables).select(events.SORT_BY).slice(0, count)
    return sorted(sort_key.encode([one.combine_chunks() for one in every.columns]))


def pure_cases(rounds: int, counts: tuple[int, ...]) -> Iterator[Result]:
    """`plan` on what the log says, which is in memory."""
    for count in counts:
        for state, layout in STATES.items():
            table = fragments(count, state)
            seconds, cpu = [], []
            for _ in range(rounds):
                started, busy = time.perf_counter(), time.process_time()
                found = plan(table, layout, NOW)
                seconds.append(time.perf_counter() - started)
                cpu.append(time.process_time() - busy)
            yield {
                "case": f"plan, {count:,} fragments, {state}",
                "contender": "alluvium",
                **_middle(seconds),
                "core_seconds": statistics.median(cpu),
                "files_total": count,
                "merges": len(found.tasks),
                "relabelled": sum(len(one.inputs) for one in found.relabels),
                "bar_seconds": PLAN_BAR,
            }


def log_cases(
    session: SparkSession, folder: Path, rounds: int, counts: tuple[int, ...]
) -> Iterator[Result]:
    """A post-hook with nothing to do on a table whose log holds so many settled fragments.

    The table's data files do not exist: a decision needs none. `warm`: this process has decided at
    this version before; `log read`: Delta has its snapshot, but nothing was made of it yet;
    `own commit`: this process has added a file since, and an earlier look has said that none is
    needed so soon, or (`look`) it has not; `foreign commit`: another writer has added a file since;
    `cold`: nobody has read the log; `log read, JVM warm`: as late in a run of many models.
    """
    session.createDataFrame(events.events(1, 0, 100)).coalesce(1).createOrReplaceTempView("landed")
    for count in counts:
        path = folder / f"planning-{count}"
        session.sql(create_sql(path))
        settled = fragments(count, "settled")
        write_commit(path, settled)
        name = f"delta.`{path}`"

        def hook(may_back_off: bool = False, name: str = name) -> None:
            done = run.compact(
                session, name, LAYOUT, "logs", clock=lambda: NOW, may_back_off=may_back_off
            )
            if done.merges or done.relabelled:
                raise SystemExit(f"{name}: there was something to do: {done}")

        def forget_fragments() -> None:
            table_files._read.clear()

        def forget() -> None:
            forget_fragments()
            jvm.of(session).org.apache.spark.sql.delta.DeltaLog.clearCache()

        def append(path: Path = path) -> None:
            write_commit(path, fragments(20, "new").slice(0, 1))

        def insert(name: str = name) -> None:
            session.sql(f"insert into {name} select * from landed")

        def nothing() -> None:
            pass

        def warm_up() -> None:
            for _ in range(_WARMING):
                forget_fragments()
                hook()

        hook()
        states: dict[str, Callable[[], None]] = {
            "warm": nothing, "log read": forget_fragments,
            PAUSED: insert, "own commit, look": insert, "foreign commit": append, "cold": forget,
            "log read, JVM warm": forget_fragments,
        }  # fmt: skip
        for state, before in states.items():
            if state == "log read, JVM warm":
                warm_up()
            if state == PAUSED:
                hook(may_back_off=True)
            whole, reading = [], []
            for _ in range(rounds):
                before()
                started = time.perf_counter()
                hook(may_back_off=state == PAUSED)
                whole.append(time.perf_counter() - started)
                before()
                started = time.perf_counter()
                read_log(session, name)
                reading.append(time.perf_counter() - started)
            in_memory = state not in ("own commit, look", "foreign commit", "cold")
            bar = {"bar_seconds": NO_OP_BAR} if in_memory and count == 10_000 else {}
            yield {
                "case": f"post-hook with nothing to do, {count:,} fragments, {state}",
                "contender": "alluvium",
                **_middle(whole),
                "seconds_snapshot": round(statistics.median(reading), 4),
                "files_total": count,
                **bar,
            }


def read_log(session: SparkSession, table: str) -> None:
    """What Delta needs for any query: the snapshot with its files in memory."""
    snapshot = log.delta_log(session, table).update(
        False, *[jvm.of(session).scala.Option.empty()] * 2
    )
    snapshot.numOfFiles()


def write_commit(path: Path, table: pa.Table) -> None:
    """Add fragments to a table's log by hand, as the next version."""
    commits = sorted((path / "_delta_log").glob("*.json"))
    number = len(commits)
    lines = [json.dumps({"commitInfo": {"timestamp": int(NOW * 1000), "operation": "WRITE"}})]
    for row in table.to_pylist():
        add: dict[str, Any] = {
            "path": row["path"] if row["tag"] else f"{number}-{row['path']}",
            "partitionValues": {},
            "size": row["bytes"],
            "modificationTime": int(row["written"] * 1000),
            "dataChange": True,
            "stats": json.dumps(_statistics(row)),
        }
        if row["tag"]:
            add["tags"] = {LAYOUT_TAG: row["tag"]}
        lines.append(json.dumps({"add": add}))
    (path / "_delta_log" / f"{number:020}.json").write_text("\n".join(lines) + "\n")


def _statistics(row: dict[str, Any]) -> dict[str, Any]:
    """Of a fragment that holds the rows of its first and its last key only."""
    known = json.loads(row["tag"]) if row["tag"] else row
    types = [events.SCHEMA.field(name).type for name in events.SORT_BY]
    low, high = (json.loads(sort_key.decode(known[end], types)) for end in ("lo", "hi"))
    if row["tag"]:
        for one in (low, high):
            one[-1] = one[-1].replace(" ", "T")[:23] + "Z"  # a time, in milliseconds
        columns = events.SORT_BY
    else:
        columns = events.SORT_BY[:1]  # of these no more is made up
    return {
        "numRecords": row["rows"],
        "minValues": {name: min(low[at], high[at]) for at, name in enumerate(columns)},
        "maxValues": {name: max(low[at], high[at]) for at, name in enumerate(columns)},
        "nullCount": dict.fromkeys(columns, 0),
    }


def _middle(seconds: list[float]) -> Result:
    return {
        "seconds": round(statistics.median(seconds), 4),
        "seconds_all": [round(one, 4) for one in seconds],
    }
