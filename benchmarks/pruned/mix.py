"""The query mix of the compaction benchmark, on its table, with automata and without."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compacting import ingest, rewriting, tables
from compacting.contenders import Alluvium
from compacting.ledger import Ledger
from compacting.queries import fewest
from pyspark.sql import SparkSession
from support.opens import counting

from pruned.asking import ruled, run

_ROUNDS = 3


def measured(
    session: SparkSession, folder: Path, files: int, rows: int, target_rows: int, batch: int
) -> Iterator[dict[str, Any]]:
    """While files land and at the end: one table, asked with the rule and without, in turns."""
    source = tables.log_events(folder / "files", files, rows)
    layout = rewriting.layout_of(target_rows, source.sort_by)
    contender = Alluvium("alluvium", layout)
    table = source.table(session, folder / "table")
    found = []

    def ask(phase: str) -> None:
        found.append({"phase": phase} | asked(session, table, source, target_rows))

    with counting(session) as opens:
        ingest.ingest(
            session, source, contender, table, Ledger(folder / "table"), batch, target_rows,
            lambda: ask("half way"), opens,
        )  # fmt: skip
    ask("final")
    case = f"query mix, {ingest.case_name(source, layout, batch)}"
    for one in found:
        yield {"case": case, "contender": one["phase"], **one}


def asked(
    session: SparkSession, table: str, source: tables.Source, target_rows: int
) -> dict[str, Any]:
    """Sums over the queries of the medians of each."""
    total: dict[str, Any] = {"floor": 0}
    run(session, table, source.mix[0].sql(), source.payload)  # warms up
    for query in source.mix:
        runs: dict[str, list[dict[str, Any]]] = {"pruned": [], "plain": []}
        for _ in range(_ROUNDS):
            for kind, several in runs.items():
                with ruled(session, kind == "pruned"):
                    several.append(run(session, table, query.sql(), source.payload))
        if runs["pruned"][0]["rows"] != runs["plain"][0]["rows"]:
            raise SystemExit(f"{query.sql()}: other rows with the rule than without")
        total["floor"] += fewest(runs["plain"][0]["rows"], target_rows)
        for kind, several in runs.items():
            by_kind = total.setdefault(kind, {"files": 0, "core_seconds": 0.0, "seconds": 0.0})
            for key in by_kind:
                by_kind[key] += statistics.median(one[key] for one in several)
    pruned, plain = total["pruned"], total["plain"]
    return total | {"core_seconds_less": 1 - pruned["core_seconds"] / plain["core_seconds"]}
