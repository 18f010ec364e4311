"""Peak memory of a compaction beside the size of the bucket, in a heap that is smaller than it.

Run with `make bench-compaction-memory`. A bucket of unsorted fragments, of about 330 MB and of
eight times as much, is brought into its final form: one merge of all of it, the largest there is.
With four tasks at a time, whatever the machine has, the larger one is shared by several; Delta's
Z-order of the same columns, at equal file size, is beside it. Each runs in a process of its own,
with a heap of 1 GiB. Writes benchmarks/results/compaction_memory.json; fails if eight times the
data need over 1.25 times the memory.

peak_bytes        most resident memory that the JVM had, and Python (VmHWM of Linux): a sum of
                  samples would count the JVM twice while it starts another program
heap_bytes        of the JVM's heap, sampled ten times a second while the compaction runs
execution_bytes   most that a task held for sorting
spilled_bytes     that the tasks put on disk instead
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from merging import charts
from merging.home import JARS, REPOSITORY, make_home, provenance
from pyspark.sql import SparkSession

from alluvium.compact.run import compact
from alluvium.engine import jvm
from alluvium.engine import session as engine
from alluvium.plan.layout.settings import Layout

RESULTS = REPOSITORY / "benchmarks" / "results" / "compaction_memory.json"
CHART = REPOSITORY / "docs" / "images" / "compaction_memory.svg"
HEAP = "1g"
# Of about 270 bytes, which do not shrink: once is more than the heap has for sorting.
ROWS = 1_200_000
ROWS_PER_FILE = 50_000
TIMES = (1, 8)
ONE, SHARED, ZORDER = "alluvium, one task", "alluvium, shared", "OPTIMIZE ZORDER"
# Tasks that may run at a time: a merge is shared where there are four.
CORES = {ONE: 2, SHARED: 4, ZORDER: 2}
BAR = 1.25
LAYOUT = Layout(("service", "at"), quiet_after=3600.0)
QUIET = 10.0**11


def new_session(home: Path, cores: int = 2) -> SparkSession:
    conf = {"spark.driver.memory": HEAP}
    return engine.new_session(engine.Settings(home=home, conf=conf, master=f"local[{cores}]"))


def write(folder: Path, rows: int) -> None:
    """The bucket: rows in no order of the sort key, in files as a feed would leave them."""
    session = new_session(folder / "home")
    frame = session.range(0, rows, 1, rows // ROWS_PER_FILE).selectExpr(
        "concat('s', cast(pow(rand(1), 3) * 200 as int)) as service",
        "timestamp_seconds(1709251200 + cast(rand(2) * 86400 as bigint)) as at",
        "id",
        "unhex(concat_ws('', transform(array('a', 'b', 'c', 'd'), x -> sha2(x || id, 512))))"
        " as payload",
    )
    frame.write.format("delta").save(str(folder / "table"))


def heap(session: SparkSession, over: threading.Event, peak: list[int]) -> None:
    memory = jvm.of(session).java.lang.management.ManagementFactory.getMemoryMXBean()
    while not over.wait(0.1):
        peak[0] = max(peak[0], int(memory.getHeapMemoryUsage().getUsed()))


def most_resident(pid: int) -> int:
    """Bytes; the most that a process had in memory so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def stages_of(session: SparkSession) -> list[Any]:
    store: Any = session.sparkContext._jsc.sc().statusStore()
    defaults = [getattr(store, f"stageList$default${place}")() for place in (2, 3, 4, 5)]
    return jvm.items(store.stageList(None, *defaults))


def compacted(folder: Path, contender: str) -> None:
    """Compact the bucket, and leave what happened in `done.json`."""
    session = new_session(folder / "home", CORES[contender])
    table = f"delta.`{folder / 'table'}`"
    over, peak = threading.Event(), [0]
    sampler = threading.Thread(target=heap, args=(session, over, peak))
    sampler.start()
    started = time.perf_counter()
    if contender == ZORDER:
        session.conf.set("spark.databricks.delta.optimize.maxFileSize", LAYOUT.target_bytes)
        metrics = session.sql(f"optimize {table} zorder by (service, at)").select("metrics.*")
        [files] = metrics.selectExpr(
            "filesRemoved.totalSize as bytes",
            "filesRemoved.totalFiles as inputs",
            "filesAdded.totalFiles as outputs",
        ).collect()
        figures = files.asDict()
    else:
        done = compact(session, table, LAYOUT, "memory", clock=lambda: QUIET)
        figures = {"bytes": done.bytes_read, "inputs": done.inputs, "outputs": done.outputs}
        figures |= {"rows": done.rows, "merges": done.merges}
    seconds = time.perf_counter() - started
    over.set()
    sampler.join()
    stages = stages_of(session)
    jvm_pid = int(jvm.of(session).java.lang.ProcessHandle.current().pid())
    figures |= {
        "seconds": round(seconds, 1),
        "heap_bytes": peak[0],
        "execution_bytes": max(int(one.peakExecutionMemory()) for one in stages),
        "spilled_bytes": sum(int(one.diskBytesSpilled()) for one in stages),
        "peak_bytes": most_resident(jvm_pid) + most_resident(os.getpid()),
    }
    (folder / "done.json").write_text(json.dumps(figures))


def case(times: int, contender: str, jars: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="alluvium-bench-") as name:
        folder = Path(name)
        make_home(folder / "home", jars)
        script = [sys.executable, __file__, "--folder", name]
        subprocess.run([*script, "--write", str(times * ROWS)], check=True)
        subprocess.run([*script, "--compact", contender], check=True)
        return {
            "case": f"{times}x",
            "contender": contender,
            "heap": HEAP,
            **json.loads((folder / "done.json").read_text()),
            **provenance(),
        }


def draw(results: list[dict[str, Any]]) -> None:
    """The bucket beside the memory that its compaction took."""
    parts = {"bucket": "bytes", "heap, most": "heap_bytes", "process, most": "peak_bytes"}
    bars = [
        {
            "case": f"{one['case']}, {one['contender']}",
            "contender": name,
            "size": one[figure] / 2**30,
        }
        for one in results
        for name, figure in parts.items()
    ]
    title = f"A final compaction, heap limited to {HEAP}, {results[-1]['machine']}"
    charts.panels(CHART, bars, "size", "GiB", title, "process")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--compact", choices=CORES, help=argparse.SUPPRESS)
    parser.add_argument("--contender", nargs="+", choices=CORES, default=[*CORES])
    parser.add_argument("--jars", type=Path, default=JARS, help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.write:
        write(asked.folder, asked.write)
        return 0
    if asked.compact:
        compacted(asked.folder, asked.compact)
        return 0
    results = []
    for times in TIMES:
        for contender in asked.contender:
            results.append(case(times, contender, asked.jars))
            print(json.dumps(results[-1]), flush=True)
    asked.results.write_text(json.dumps(results, indent=2) + "\n")
    if asked.results == RESULTS:
        draw(results)
    worst = 0.0
    for contender in (one for one in asked.contender if one != ZORDER):
        few, many = (one["peak_bytes"] for one in results if one["contender"] == contender)
        worst = max(worst, many / few)
        print(f"{contender}: 8 times the data, {many / few:.2f} times the memory (bar {BAR})")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
