"""Planning and running a pruned query on a table of many files, log read and all."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from compacting import tables
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.internals import DELTA_LOG
from alluvium.engine import jvm
from alluvium.plan.automata import Index, summarize
from alluvium.plan.automata.tags import to_text
from pruned.asking import ruled, run

SCHEMA = pa.schema(
    [("service", pa.string()), ("host", pa.string()), ("at", pa.int32()), ("message", pa.string())]
)
CONDITION = "service = 'service-0500' and host = 'host-5000'"
_ROWS, _SERVICES, _HOSTS, _COMMIT = 40, 1_000, 10_000, 5_000
# Automata of so many kinds: the values of file 37 are those of file 37 + 100.
_KINDS = 100
_ROUNDS = 7


def table(session: SparkSession, folder: Path, files: int) -> tuple[str, float]:
    """Files whose bounds hold the condition; the tag of every hundredth says that it may, too.

    Each has 40 values of two columns. The bytes of its tag come with it.
    """
    session.sql(tables.create_sql(folder, SCHEMA))
    name = f"delta.`{folder}`"
    made = []
    for kind in range(_KINDS):
        services, hosts = _values(kind, _SERVICES), _values(kind, _HOSTS)
        rows = {
            "service": [f"service-{one:04}" for one in services],
            "host": [f"host-{one:04}" for one in hosts],
            "at": [0] * _ROWS,
            "message": ["-"] * _ROWS,
        }
        content = pa.table(rows, SCHEMA)
        path = folder / f"kind-{kind}.parquet"
        pq.write_table(content, path)
        indexes = {}
        for one in ("service", "host"):
            index = summarize(content[one], 1000)
            if index is None:
                raise SystemExit("an automaton has no room")
            indexes[one] = index
        stats = {
            "numRecords": _ROWS,
            "minValues": {one: min(rows[one]) for one in indexes},
            "maxValues": {one: max(rows[one]) for one in indexes},
            "nullCount": dict.fromkeys(rows, 0),
        }
        made.append((path, json.dumps(stats), indexes))
    adds, size = [], 0
    for number in range(files):
        path, stats, indexes = made[number % _KINDS]
        # No two tags are the same: decisions are kept by their text.
        at = Index(False, False, type="int", held=((0, number),))
        tag = to_text({**indexes, "at": at})
        size += len(tag.encode())
        own = folder / f"part-{number:05}.snappy.parquet"
        os.link(path, own)
        adds.append({**tables.add_of(own, stats, 0), "tags": {marks.AUTOMATA_TAG: tag}})
    for begin in range(0, files, _COMMIT):
        tables.land(session, name, adds[begin : begin + _COMMIT])
    return name, size / files


def _values(kind: int, count: int) -> list[int]:
    """The ends, which all files have, and others of this kind alone; 500 and 5000 of kind 50."""
    middle = count // 2
    others = [one for one in range(1, count - 1) if one != middle]
    own = random.Random(f"{kind} {count}").sample(others, _ROWS - 2)
    if kind == _KINDS // 2:
        own[0] = middle
    return [0, *own, count - 1]


def measured(session: SparkSession, folder: Path, files: int) -> dict[str, Any]:
    """Seconds of planning with the rule and without: the log read before, and in it; in turns."""
    name, tag_bytes = table(session, folder, files)
    session.sql(f"select count(*) from {name} where {CONDITION}").collect()
    found: dict[str, Any] = {"files": files, "tag_bytes_a_file": tag_bytes}
    for title, is_read in (("log read", True), ("log known", False)):
        taken: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for turn in range(_ROUNDS + 1):
            for on, spent in taken.items():
                if is_read:
                    _forget(session)
                one = planning(session, name, on)
                if turn:
                    spent.append(one)
        found[f"planning, {title}"] = {
            kind: {
                "pruned": statistics.median(one[place] for one in taken[True]),
                "plain": statistics.median(one[place] for one in taken[False]),
                "pruned_all": [one[place] for one in taken[True]],
                "plain_all": [one[place] for one in taken[False]],
            }
            for place, kind in enumerate(("seconds", "cpu_seconds"))
        }
    for kind in ("pruned", "plain"):
        _forget(session)
        with ruled(session, kind == "pruned"):
            found[f"query, log read, {kind}"] = run(session, name, CONDITION, "message")
    return found


def planning(session: SparkSession, name: str, on: bool) -> tuple[float, float]:
    """Seconds, and those that the thread which plans had a core: without tasks that read the log.

    The second says the same on a machine that has other things to do.
    """
    threads: Any = jvm.of(session).java.lang.management.ManagementFactory.getThreadMXBean()
    with ruled(session, on):
        cpu, started = threads.getCurrentThreadCpuTime(), time.perf_counter()
        frame = session.sql(f"select * from {name} where {CONDITION}")
        frame._jdf.queryExecution().executedPlan()
        spent = time.perf_counter() - started
        return spent, (threads.getCurrentThreadCpuTime() - cpu) / 1e9


def _forget(session: SparkSession) -> None:
    """Delta's logs, so that the next query reads one."""
    jvm.internal(session, DELTA_LOG).clearCache()
