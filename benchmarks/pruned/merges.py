"""Merges of late events into a table whose files have few devices each: `auto` with automata and
without."""

from __future__ import annotations

import random
import statistics
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact.index import add_indexes
from alluvium.merge import one_commit
from alluvium.merge.ranges import plan_columns
from alluvium.plan.layout.settings import Layout
from pruned.asking import RULE

_SEED = 1
# A device sends to the shard that its hash says: a file has 20 of the 4,000, of any number.
_FILES, _ROWS, _OF_A_FILE, _DEVICES = 300, 20_000, 20, 4_000
_SHARDS = _DEVICES // _OF_A_FILE
# An event's number is the place of its row times this, so that it says nothing of the file.
_FACTOR, _NUMBERS = 2_654_435_761, 2**32
_BATCH = 2_000
# Devices of a batch: few, some, and as many as leave no file out.
BATCHES = (5, 30, 900)
_ROUNDS = 8
ALONE, ASKED = "ranges alone", "with automata"
COLUMNS = "device string, n bigint, seq bigint, reading double, note string"


def measured(session: SparkSession, folder: Path) -> Iterator[dict[str, Any]]:
    table, names = _table(session, folder / "table")
    draw = random.Random(_SEED)
    for devices in BATCHES:
        taken: dict[str, list[dict[str, float]]] = {ALONE: [], ASKED: []}
        for turn in range(_ROUNDS + 1):
            path = folder / f"batch_{devices}_{turn}"
            batch = _stage(session, path, draw, draw.sample(range(_DEVICES), devices), names)
            order = list(taken.items())
            for contender, runs in order if turn % 2 else order[::-1]:
                with settings(session, {RULE: str(contender == ASKED).lower()}):
                    one = _merge(session, table, batch)
                if turn:  # behind one of each to warm up
                    runs.append(one)
        for contender, runs in taken.items():
            yield {
                "case": f"merges, {_FILES} files, {_BATCH:,} events of {devices} devices",
                "contender": contender,
                **{key: statistics.median(one[key] for one in runs) for key in runs[0]},
                "seconds_all": [one["seconds"] for one in runs],
                "ratio": _ratio(runs, taken[ALONE]),
            }


def _ratio(runs: list[dict[str, float]], others: list[dict[str, float]]) -> float:
    """Of pairs: the machine may have other work. The second merge of a batch is quicker, so each
    order has a median, and both count alike."""
    pairs = zip(runs, others, strict=True)
    ratios = [one["seconds"] / other["seconds"] for one, other in pairs]
    return statistics.geometric_mean(statistics.median(ratios[turn::2]) for turn in range(2))


def _table(session: SparkSession, path: Path) -> tuple[str, list[str]]:
    """Files of the same shard have the same devices. The key: device and number of its event."""
    draw = random.Random(_SEED)
    numbers = draw.sample(range(10**6), _DEVICES)
    names = [f"dev-{number:06}" for number in numbers]
    devices = session.createDataFrame(pa.table({"place": range(_DEVICES), "device": names}))
    devices.createOrReplaceTempView("bench_devices")
    session.sql(
        f"create table delta.`{path}` ({COLUMNS}) using delta"
        " tblproperties (delta.enableDeletionVectors = true)"
    )
    rows = session.range(_FILES * _ROWS, numPartitions=_FILES).selectExpr(
        f"int(id div {_ROWS} % {_SHARDS}) * {_OF_A_FILE} + int(id % {_OF_A_FILE}) as place",
        f"id * {_FACTOR} % {_NUMBERS} as n",
        "id as seq",
        "rand(1) as reading",
        "sha1(string(id)) as note",
    )
    joined = rows.join(session.table("bench_devices").hint("broadcast"), "place")
    written = joined.select("device", "n", "seq", "reading", "note").write.format("delta")
    written.mode("append").save(str(path))
    table = f"delta.`{path}`"
    add_indexes(session, table, Layout(sort_by=("device",)), "bench")
    return table, names


def _stage(
    session: SparkSession, path: Path, draw: random.Random, devices: list[int], names: list[str]
) -> str:
    """Later events of rows of these devices; one in ten is a new row."""
    rows = []
    for place in range(_BATCH):
        device = draw.choice(devices)
        shard, of_file = divmod(device, _OF_A_FILE)
        file = draw.choice(range(shard, _FILES, _SHARDS))
        row = file * _ROWS + draw.randrange(_ROWS // _OF_A_FILE) * _OF_A_FILE + of_file
        number = _NUMBERS + place if place % 10 == 0 else row * _FACTOR % _NUMBERS
        rows.append((names[device], number, 10**9 + place, draw.random(), "late"))
    frame = session.createDataFrame(rows, COLUMNS).dropDuplicates(["device", "n"])
    frame.write.format("delta").save(str(path))
    return f"delta.`{path}`"


def _merge(session: SparkSession, table: str, batch: str) -> dict[str, float]:
    """Into a clone, which has the tags too."""
    clone = f"bench.clone_{uuid.uuid4().hex}"
    session.sql(f"create table {clone} shallow clone {table}")
    request = {
        "columns": ["device", "n"],
        "keys": ["device", "n"],
        "max_ranges": 64,
        "table": clone,
        "alias": "t",
    }
    started = time.perf_counter()
    found = plan_columns(session, lambda: session.table(batch), request)
    done = one_commit.prepare(
        session,
        f"merge into {clone} t using {batch} s"
        f" on {found['sql']} and s.device = t.device and s.n = t.n"
        " when matched and s.seq > t.seq then update set *"
        " when not matched then insert *",
        automata=True,
    )
    if not isinstance(done, one_commit.Prepared):
        raise SystemExit(f"{batch}: {done}")
    with done:
        changed = done.commit().affected
    seconds = time.perf_counter() - started
    if changed != session.table(batch).count():
        raise SystemExit(f"{batch}: {changed} rows changed")
    session.sql(f"drop table {clone}")
    kept = done.kept
    return {
        "seconds": seconds,
        "files": kept.files,
        "files_total": kept.files_total,
        "skipped": kept.skipped,
        "bytes": kept.bytes,
        "ranges": found["ranges"],
    }
