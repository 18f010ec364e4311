"""The same files landing for each contender, batch by batch, and what is asked of the result."""

from __future__ import annotations

import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from support.opens import counting

from alluvium.delta.log import log
from alluvium.engine import core_seconds
from alluvium.marks import LAYOUT_TAG
from alluvium.names import quoted
from alluvium.plan.compaction import tags
from alluvium.plan.layout.settings import Layout
from compacting.contenders import Alluvium, Contender, sized
from compacting.ledger import Ledger
from compacting.queries import Query, fewest
from compacting.rewriting import huffman, naive_pairwise
from compacting.tables import Source, land

Result = dict[str, Any]


@dataclass
class Ingested:
    """What a contender did while the files landed.

    Attributes:
        seconds: of compaction after each batch, and after the last one.
        live: fragments when each batch was compacted, `landed` when it had landed.
        small: of `live`, those of less than half of a full one's rows.
        core_seconds, core_seconds_last: CPU time of Spark's tasks for it, as `seconds`; with the
            commits of what lands, the same for everybody.
        opened: how often data files have been opened for compaction, at Hadoop's file system.
        requests: data files opened and written for compaction so far, after each batch.
        rows, bytes: rewritten while files landed.
        levels: fragments of each level of ours when all files had landed, before the end.
        order_bytes: what order had rewritten by then over what size tiers had, by the tags.
    """

    ledger: Ledger
    core_seconds: float = 0.0
    core_seconds_last: float = 0.0
    opened: int = 0
    seconds: list[float] = field(default_factory=list)
    seconds_last: float = 0.0
    live: list[int] = field(default_factory=list)
    landed: list[int] = field(default_factory=list)
    small: list[int] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    levels: dict[int, int] = field(default_factory=dict)
    order_bytes: float = 0.0


def ingest(
    session: SparkSession,
    source: Source,
    contender: Contender,
    table: str,
    ledger: Ledger,
    files_per_batch: int,
    target_rows: int,
    half_way: Callable[[], None],
    opens: Callable[[], Counter[str]],
) -> Ingested:
    """Land all files, and compact after each batch and at the end.

    target_rows: of a full fragment.
    half_way: called when half of the batches are in.
    opens: how often each file has been opened, by its name.
    """
    done = Ingested(ledger)

    @contextmanager
    def compacting() -> Iterator[core_seconds.Spent]:
        before = opens()
        with core_seconds.measured(session) as spent:
            yield spent
        opened = opens() - before
        done.opened += sum(count for name, count in opened.items() if name.startswith("part-"))

    batches = source.batches(files_per_batch)
    for number, adds in enumerate(batches, 1):
        now = adds[-1]["modificationTime"] / 1000
        with compacting() as spent:
            started = time.perf_counter()
            land(session, table, adds)
            landed = time.perf_counter()
            contender.after_batch(session, table, now)
            # Auto compaction is a part of the commit.
            begun = started if contender.in_commit else landed
            done.seconds.append(time.perf_counter() - begun)
        assert spent.cpu_seconds is not None
        done.core_seconds += spent.cpu_seconds
        done.landed.append(len(ledger.live) + len(adds))
        ledger.follow()
        done.live.append(len(ledger.live))
        rows = [one["stats"]["numRecords"] for one in ledger.live.values()]
        done.small.append(sum(2 * count < target_rows for count in rows))
        done.requests.append(done.opened + ledger.written)
        if number == len(batches) // 2:
            half_way()
    done.rows, done.bytes = ledger.rows, ledger.bytes
    if isinstance(contender, Alluvium):
        _read_tags(done)
    with compacting() as spent:
        started = time.perf_counter()
        contender.at_last(session, table, now)
        done.seconds_last = time.perf_counter() - started
    assert spent.cpu_seconds is not None
    done.core_seconds_last = spent.cpu_seconds
    ledger.follow()
    return done


def cases(
    session: SparkSession,
    folder: Path,
    source: Source,
    layout: Layout,
    files_per_batch: int,
    who: Sequence[Contender],
    ask: int,
) -> Iterator[Result]:
    """Contenders on the same files.

    layout: ours. The others make files of as many bytes as that many rows have when they land.
    ask: how often the query mix is asked, after half of the batches and at the end; 0 for never.
    """
    case = case_name(source, layout, files_per_batch)
    full_bytes = source.bytes * layout.target_rows // source.rows
    for contender in who:
        path = folder / "table"
        table = source.table(session, path, contender.options)
        ledger = Ledger(path)
        asked: list[Result] = []

        def half_way(
            table: str = table, ledger: Ledger = ledger, asked: list[Result] = asked
        ) -> None:
            if ask:
                asked.append(
                    {"phase": "half way"}
                    | answers(session, table, ledger, source, layout.target_rows, 1)
                )

        with sized(session, full_bytes), counting(session) as opens:
            done = ingest(
                session, source, contender, table, ledger, files_per_batch, layout.target_rows,
                half_way, opens,
            )  # fmt: skip
        if ask:
            asked.append(
                {"phase": "final"}
                | answers(session, table, ledger, source, layout.target_rows, ask)
            )
        common = {"case": case, "contender": contender.name}
        yield common | {"figure": "ingest"} | figures(source, contender, done, layout)
        for one in asked:
            yield common | {"figure": "queries"} | one
        shutil.rmtree(path)


def pairwise(source: Source, layout: Layout, files_per_batch: int) -> Result:
    """What merging each file with all that came before it would cost: computed, not run."""
    return {
        "case": case_name(source, layout, files_per_batch),
        "contender": "pairwise (computed)",
        "figure": "ingest",
        "rows": source.rows,
        "seconds": 0.0,
        "rewrites_per_row": naive_pairwise(source.sizes) / source.rows,
        "bound": huffman(source.sizes, layout.fan_in) / source.rows,
        "requests": 3 * (len(source.sizes) - 1),  # two opened and one written
    }


def case_name(source: Source, layout: Layout, files_per_batch: int) -> str:
    return f"{source.name}, target {layout.target_rows:,}, a commit for {files_per_batch} files"


def figures(source: Source, contender: Contender, done: Ingested, layout: Layout) -> Result:
    ledger = done.ledger
    rows = [one["stats"]["numRecords"] for one in ledger.live.values()]
    if sum(rows) != source.rows:
        raise SystemExit(f"{contender.name}: {sum(rows)} rows of {source.rows}")
    found = {
        "rows": source.rows,
        "seconds": round(sum(done.seconds), 2),
        "seconds_all": [round(one, 3) for one in done.seconds],
        "seconds_last": round(done.seconds_last, 2),
        "core_seconds": done.core_seconds,
        "core_seconds_last": done.core_seconds_last,
        "rewrites_per_row": done.rows / source.rows,
        "rewrites_last": (ledger.rows - done.rows) / source.rows,
        "bound": huffman(source.sizes, layout.fan_in) / source.rows,
        "bytes": ledger.bytes,
        "bytes_written": ledger.bytes_written,
        "bytes_landed": source.bytes,
        "requests": done.opened + ledger.written,
        "requests_all": done.requests,
        "commits": ledger.commits,
        "live_fragments": done.live,
        "live_fragments_max": max(done.landed),
        "files_total": len(ledger.live),
        "rows_per_file": round(statistics.mean(rows)),
    }
    if isinstance(contender, Alluvium):
        found["small_max"] = max(done.small)
        found["small_limit"] = contender.layout.most_small
        found["levels"] = done.levels
        found["order_bytes_to_tiers"] = done.order_bytes
    return found


def answers(
    session: SparkSession, table: str, ledger: Ledger, source: Source, target_rows: int, rounds: int
) -> Result:
    """The query mix on a table: what Delta's skipping keeps, and what the queries cost."""
    found: dict[str, Result] = {}
    for query in source.mix:
        kept = log.skipping(session, table, query.sql())
        runs = [measured(session, table, query, source.payload) for _ in range(rounds)]
        rows = runs[0][0]
        one = {
            "rows": rows,
            "floor": fewest(rows, target_rows),
            "files_kept": kept.files,
            "bytes": kept.bytes,
            "core_seconds": statistics.median(cpu for _, cpu, _ in runs),
            "seconds": statistics.median(seconds for _, _, seconds in runs),
        }
        for kind in (query.kind, "all"):
            every = found.setdefault(kind, dict.fromkeys(one, 0))
            found[kind] = {name: every[name] + value for name, value in one.items()}
    whole = found.pop("all")
    return {
        **whole,
        "rows_total": source.rows,
        "files_total": kept.files_total,
        "bytes_total": kept.bytes_total,
        "ratio": whole["files_kept"] / whole["floor"],
        "bar_ratio": 1.3,
        "rows_per_file": round(
            statistics.mean(one["stats"]["numRecords"] for one in ledger.live.values())
        ),
        "kinds": found,
    }


def measured(
    session: SparkSession, table: str, query: Query, payload: str
) -> tuple[int, float, float]:
    """Rows found, CPU seconds of Spark's tasks and seconds of one query."""
    started = time.perf_counter()
    with core_seconds.measured(session) as spent:
        row = session.sql(
            f"select count(*), sum(length({quoted(payload)})) from {table} where {query.sql()}"
        ).first()
        seconds = time.perf_counter() - started
    assert row is not None
    assert spent.cpu_seconds is not None
    return int(row[0]), spent.cpu_seconds, seconds


def _read_tags(done: Ingested) -> None:
    """What the tags of the live fragments say; of the levels without those that have none."""
    texts = [(one.get("tags") or {}).get(LAYOUT_TAG) for one in done.ledger.live.values()]
    found = tags.read(pa.chunked_array([texts], pa.string()))
    found = found.filter(found["level"].is_valid())
    done.levels = dict(sorted(Counter(found["level"].to_pylist()).items()))
    if found.num_rows:

        def total(name: str) -> int:
            return int(pc.sum(found[name]).as_py())

        done.order_bytes = total("locality_bytes") / total("tier_bytes")
