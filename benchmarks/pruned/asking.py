"""Questions for one value of one column, and what Spark reads to answer them."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from compacting.tables import Source
from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.engine import core_seconds, jvm
from alluvium.names import quoted
from alluvium.plan.ranges.literal import typed_literal

ASKED, ROUNDS = 6, 5
RULE = "spark.alluvium.pruning.enabled"


@dataclass(frozen=True)
class Values:
    """What a column is asked for.

    every: all of its values, the most frequent first.
    present: some of these, the frequent and the rare.
    absent: others, between the least and the greatest.
    """

    every: Sequence[Any]
    present: Sequence[Any]
    absent: Sequence[Any]


def values(source: Source, absent: Mapping[str, Any]) -> dict[str, Values]:
    """By column.

    absent: what makes another value of a present one.
    """
    files = [source.folder / add["path"] for add in source.adds]
    table = ds.dataset(files).to_table(columns=list(absent))
    found = {}
    for column, other in absent.items():
        counts = pc.value_counts(table[column].drop_null()).to_pylist()
        counts.sort(key=lambda one: (-one["counts"], str(one["values"])))
        every = [one["values"] for one in counts]
        present = [every[place] for place in np.linspace(0, len(every) - 1, ASKED).astype(int)]
        known, low, high = set(every), min(every), max(every)
        between = [one for one in map(other, present) if low < one < high and one not in known]
        found[column] = Values(every, list(dict.fromkeys(present)), list(dict.fromkeys(between)))
    return found


def where(column: str, value: Any) -> str:
    kind = "string" if isinstance(value, str) else "int"
    return f"{quoted(column)} = {typed_literal(str(value), kind)}"


def planned(session: SparkSession, table: str, condition: str) -> tuple[int, int]:
    """Files that the scan of the physical plan reads, and their bytes."""
    frame = session.sql(f"select * from {table} where {condition}")
    files = size = 0
    for leaf in _scans(frame._jdf.queryExecution().sparkPlan()):
        picked = leaf.selectedPartitions()
        files += int(picked.totalNumberOfFiles())
        size += int(picked.totalFileSize())
    return files, size


def means(
    session: SparkSession, table: str, asked: Mapping[str, Values]
) -> dict[str, dict[str, Any]]:
    """By column: files and bytes of a query, on average and for each value."""
    found: dict[str, dict[str, Any]] = {}
    for column, of in asked.items():
        found[column] = {}
        for kind, some in (("present", of.present), ("absent", of.absent)):
            read = [planned(session, table, where(column, value)) for value in some]
            found[column][kind] = statistics.fmean(files for files, _ in read)
            found[column][f"{kind}_bytes"] = statistics.fmean(size for _, size in read)
            found[column][f"{kind}_by_value"] = {
                str(value): files for value, (files, _) in zip(some, read, strict=True)
            }
    return found


def executed(
    session: SparkSession, table: str, asked: Mapping[str, Values], payload: str
) -> dict[str, dict[str, Any]]:
    """By column: a query for its rarest value, and one for an absent value, run once.

    files, bytes: by Spark's SQL metrics; bytes_read: by the metrics of its tasks.
    """
    found: dict[str, dict[str, Any]] = {}
    for column, of in asked.items():
        found[column] = {}
        for kind, value in (("rarest", of.present[-1]), ("absent", of.absent[0])):
            found[column][kind] = run(session, table, where(column, value), payload)
    return found


def run(session: SparkSession, table: str, condition: str, payload: str) -> dict[str, Any]:
    sql = f"select count(*), sum(length({quoted(payload)})) from {table} where {condition}"
    tag = f"asked-{uuid.uuid4()}"
    context: Any = session.sparkContext
    context.addJobTag(tag)
    # Adaptive plans hide the scans.
    with settings(session, {"spark.sql.adaptive.enabled": "false"}):
        try:
            started = time.perf_counter()
            frame = session.sql(sql)
            row = frame.collect()[0]
            seconds = time.perf_counter() - started
        finally:
            context.removeJobTag(tag)
    scans = _scans(frame._jdf.queryExecution().executedPlan())
    attempts = core_seconds._attempts(context, tag)
    return {
        "rows": int(row[0]),
        "files": sum(int(one.metrics().apply("numFiles").value()) for one in scans),
        "bytes": sum(int(one.metrics().apply("filesSize").value()) for one in scans),
        "bytes_read": sum(int(one.inputBytes()) for one in attempts),
        "core_seconds": sum(one.executorCpuTime() for one in attempts) / 1e9,
        "seconds": seconds,
    }


def _scans(plan: Any) -> list[Any]:
    leaves = jvm.items(plan.collectLeaves())
    return [one for one in leaves if one.getClass().getSimpleName() == "FileSourceScanExec"]


def beside_plain(
    session: SparkSession, table: str, condition: str, payload: str, rounds: int = ROUNDS
) -> dict[str, Any]:
    """A query with the rule and without, in turns, behind one of each to warm up."""
    taken: dict[str, list[dict[str, Any]]] = {"true": [], "false": []}
    for turn in range(rounds + 1):
        for on, runs in taken.items():
            with ruled(session, on == "true"):
                one = run(session, table, condition, payload)
            if turn:
                runs.append(one)
    if taken["true"][0]["rows"] != taken["false"][0]["rows"]:
        raise SystemExit(f"{condition}: {taken['true'][0]} beside {taken['false'][0]}")
    return {
        name: {
            key: statistics.median(one[key] for one in taken[on])
            for key in ("files", "seconds", "core_seconds")
        }
        for name, on in (("pruned", "true"), ("plain", "false"))
    }


def ruled(session: SparkSession, on: bool) -> AbstractContextManager[None]:
    """The rule, on or off, as long as this lasts."""
    return settings(session, {RULE: str(on).lower()})
