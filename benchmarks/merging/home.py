"""What benchmarks share: the folder of an embedded Spark, processes, and how results are kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPOSITORY / ".alluvium" / "jars"))


def make_home(folder: Path, jars: Path = JARS) -> Path:
    """Make `folder`, with these jars, so that none is resolved again."""
    folder.mkdir()
    (folder / "jars").symlink_to(jars.resolve())
    return folder


def answers(
    command: Sequence[str], what: str, env: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """The lines that a process writes, each JSON, as they come.

    what: of whom it is told where the process fails.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise SystemExit(f"{what}: the run failed")


def family(process: int) -> dict[int, list[bytes]]:
    """A process and all below it: what its `stat` has behind the name. Linux only."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name before it may hold anything, in parentheses.
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(stat.parent.name)] = fields
    ours = {process}
    while more := {pid for pid, fields in found.items() if int(fields[1]) in ours} - ours:
        ours |= more
    return {pid: fields for pid, fields in found.items() if pid in ours}


def jvm_of(session: SparkSession) -> int:
    """The id of a session's JVM."""
    jvm: Any = session._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def cpu_seconds(jvm: int) -> float:
    """CPU time of the JVM and of the Python workers below it, so far. Linux only."""
    # With ended children.
    ticks = sum(sum(map(int, fields[11:15])) for fields in family(jvm).values())
    return ticks / os.sysconf("SC_CLK_TCK")


def median_interval(values: Sequence[float]) -> list[float]:
    """What holds the median with 95 % confidence, by bootstrap: the lower and the upper end."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values)))
    return [float(end) for end in np.quantile(np.median(draws, axis=1), (0.025, 0.975))]


def provenance() -> dict[str, Any]:
    """What each figure is kept with: the machine, what ran on it, and the run that it is of."""
    return {"machine": MACHINE, "versions": VERSIONS, "run": RUN}


def _machine() -> str:
    model = "processor unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(": ")[1] for line in lines if "model name" in line), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"{platform.system()} {platform.machine()}"
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {system}"


MACHINE = _machine()
PACKAGES = ("pyspark", "delta-spark", "dbt-core", "dbt-spark", "deltalake", "scikit-learn")
VERSIONS = {name: version(name) for name in PACKAGES}
# Figures of one run may be compared; of two, the machine may have been another's half.
RUN = datetime.now(UTC).isoformat(timespec="seconds")


def keep(path: Path, results: list[dict[str, Any]]) -> None:
    """Put the results among the kept ones, in the place of earlier ones of case and contender."""
    known = json.loads(path.read_text()) if path.exists() else []
    renewed = {(one["case"], one["contender"]) for one in results}
    every = [one for one in known if (one["case"], one["contender"]) not in renewed] + results
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(every, indent=2) + "\n")
