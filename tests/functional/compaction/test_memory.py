"""Memory of a compaction, whatever the size of the bucket: `make bench-compaction-memory`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from functional.runner import REPO, add_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("contender", ["alluvium, one task", "alluvium, shared"])
def test_eight_times_the_data_in_a_heap_that_is_smaller(tmp_path: Path, contender: str) -> None:
    """It fails where the heap of 1 GiB is not enough, or memory outside of it grows with the data.

    The heap is capped, and full with the smaller bucket already: it cannot show in the ratio of the
    processes, whose bar is 1.25. What grows by some 400 MB outside of it can, such as buffers that
    Spark or Parquet take off the heap, or rows that come to Python.
    """
    results, jars = tmp_path / "memory.json", add_jars(tmp_path / "home") / "jars"
    script = [sys.executable, str(REPO / "benchmarks/compaction_memory.py")]
    script += ["--contender", contender, "--jars", str(jars), "--results", str(results)]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=1500)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    once, eight = json.loads(results.read_text())
    assert eight["rows"] == 8 * once["rows"]
    assert eight["merges"] == 1
    assert eight["bytes"] > 2 * 2**30 > eight["heap_bytes"]
