"""Executors that are processes of their own: lost in a merge, or never there.

Each runs in a process of its own: this one has a context already.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MERGED = """
import os, signal, sys
from pathlib import Path
from alluvium.delta.merge.merge_command import MergeCommand
from alluvium.engine.session import Settings, new_session
from alluvium.merge import execute

spark = new_session(Settings(Path(sys.argv[1]), master="local-cluster[2,1,1024]"))
spark.sql(
    "create table t using delta tblproperties ('delta.enableDeletionVectors' = 'true')"
    " as select id, 0 as v from range(0, 1000, 1, 4)"
)
spark.sql("create or replace temp view b as select id, 1 as v from range(990, 1010)")
killed = []
look = MergeCommand.materialise_matches


def look_after_a_kill(self, *given):
    if not killed:
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().split(b"\\0")
            except OSError:
                continue
            mine = any(word.startswith(b"spark://CoarseGrainedScheduler") for word in words)
            if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words and mine:
                os.kill(int(entry.parent.name), signal.SIGKILL)
                killed.append(entry.parent.name)
    return look(self, *given)


MergeCommand.materialise_matches = look_after_a_kill
sql = (
    "merge into t using b on t.id = b.id when matched then update set *"
    " when not matched then insert *"
)
done = execute.run(
    execute.DeltaTable(spark, "t", "model.x.t"), lambda: execute.Statement(sql, {})
)
assert killed
rows = spark.sql("select count(*), sum(v) from t").first()
commits = spark.sql("describe history t").count()
print("DONE", done.engine, done.affected, done.restarts, *rows, commits)
"""


def run(home: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("DONE"))


def test_lost_in_a_merge(tmp_path: Path) -> None:
    """It begins again from its start, in one commit, and says so."""
    assert run(tmp_path / "home", MERGED) == "DONE one_commit 20 1 1010 20 2"


NONE = """
import sys
from pathlib import Path
from alluvium.engine import EngineError, executors
from alluvium.engine.session import Settings, new_session

executors._PATIENCE = 1.0
said = []
large = {"spark.executor.cores": "64"}
session = new_session(Settings(Path(sys.argv[1]), master="local-cluster[1,1,1024]", conf=large))
try:
    executors.wait(session, 4.0, said.append)
except EngineError as error:
    print("DONE", error, *said)
"""


def test_none_comes(tmp_path: Path) -> None:
    said = run(tmp_path / "home", NONE)
    assert said.startswith("DONE No executor came within 4 s. Asked for: spark.master=local-clus")
    assert "spark.executor.cores=64" in said
    assert "no executor after 1 s, waiting: Asked for: spark.master=local-cluster" in said
