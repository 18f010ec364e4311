"""A JVM that outlives its command: who attaches, and what is left there."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest
from functional.warm.warm_project import WARM, is_alive, warm_project
from support import quick_java

pytestmark = pytest.mark.spark

# What may be left behind: cached rows, a global view, settings, a pool, files of a shuffle,
# workers, and callbacks of a stream, whose connection makes py4j wait as the process goes out.
LEAVES = """
def model(dbt, session):
    import os, sys
    from pathlib import Path
    from alluvium.engine import pools
    from pyspark.sql import functions as F

    pools.use(session, "hourly")
    session.sql("cache table mine as select 1 as id")
    session.range(3).createOrReplaceGlobalTempView("everybodys")
    session.sql("set spark.sql.shuffle.partitions = 77")
    session.range(5).write.format("delta").mode("append").saveAsTable("s.source")
    seen = []
    stream = session.readStream.table("s.source").writeStream
    stream.foreachBatch(lambda rows, number: seen.append(rows.count())).option(
        "checkpointLocation", os.environ["CHECKPOINT"]
    ).trigger(availableNow=True).start().awaitTermination()
    worker = F.udf(lambda value: os.getpid(), "long")
    pid = session.range(1).select(worker("id").alias("pid")).collect()[0].pid
    def blocks():
        return {str(one) for one in Path(os.environ["SCRATCH"]).glob("blockmgr-*/*/*")}

    before = blocks()
    session.range(9).repartition(3).count()
    all_pools = session.sparkContext._jsc.sc().getAllPools()
    row = (pid, sum(seen), all_pools.size(), sorted(blocks() - before))
    kinds = "worker long, events long, pools long, blocks array<string>"
    return session.createDataFrame([row], kinds)
"""
# What the next command finds.
FINDS = """
def model(dbt, session):
    context = session.sparkContext
    java = context._jsc.sc()
    from py4j.java_gateway import JavaObject
    server = JavaObject("GATEWAY_SERVER", context._gateway._gateway_client)
    views = session.sql("show views in global_temp").count()
    is_empty = session._jsparkSession.sharedState().cacheManager().isEmpty()
    pools = java.getAllPools().size()
    row = (
        views,
        not is_empty,
        session.conf.get("spark.sql.shuffle.partitions"),
        pools,
        java.getPersistentRDDs().size(),
        server.getGateway().getBindings().size(),
    )
    return session.createDataFrame(
        [row], "views long, cached boolean, partitions string, pools long, rdds long, bound long"
    )
"""


def wait_for_none(paths: list[str]) -> None:
    """Until Spark's cleaner has deleted what the goodbye gave free."""
    until = time.monotonic() + 30
    while left := [one for one in paths if Path(one).exists()]:
        assert time.monotonic() < until, left
        time.sleep(0.2)


def test_the_next_command_attaches_and_finds_nothing_of_the_last(tmp_path: Path) -> None:
    """In a JVM as users have them: all others start quicker (`quick_java.py`)."""
    with warm_project(tmp_path / "my project") as project:
        # Of whoever lists processes, and of files, none shows what a profile keeps to itself.
        hidden = "p4ss=w:ord"
        conf = json.dumps({"spark.hadoop.my.password": hidden})
        project.profile(f"{WARM}, spark_conf: {conf}")
        project.add_merged()
        project.write(leaves=LEAVES, finds=FINDS)
        env = {"CHECKPOINT": str(tmp_path / "checkpoint"), quick_java.OPTIONS: ""}
        env["SCRATCH"] = str(project.home / "scratch")
        # One thread: files of a shuffle say nothing of whose they are.
        said = project.dbt("build", "--exclude", "finds", "--threads", "1", **env)
        assert "items: 1 test passed → version" in said
        for table in ("items_wap", "items"):
            ids = project.rows(f"select id from {{s}}.{table} order by id")["id"]
            assert ids.tolist() == list(range(9))
        pid = project.pid
        assert is_alive(pid)
        # A compiler of one tier is the mark of the quick ones.
        assert "TieredStopAtLevel" in os.environ[quick_java.OPTIONS]
        state = project.home / "engine.json"
        assert stat.S_IMODE(state.stat().st_mode) == 0o600
        assert project.state is not None
        secret = project.state["secret"]
        command = Path(f"/proc/{pid}/cmdline").read_text()
        assert secret not in command
        assert "org.apache.spark.deploy.SparkSubmit" in command
        assert hidden not in command
        assert "TieredStopAtLevel" not in command
        (leaves,) = project.rows("select * from {s}.leaves").itertuples()
        assert (leaves.events, leaves.pools) == (5, 2)
        assert len(leaves.blocks)
        wait_for_none(list(leaves.blocks))

        said = project.dbt("run", "--select", "finds", **env)
        assert project.pid == pid
        assert "gone" not in said
        assert not is_alive(leaves.worker)
        (finds,) = project.rows("select * from {s}.finds").itertuples()
        assert (finds.views, finds.cached, finds.rdds) == (0, False, 0)
        assert finds.partitions != "77"
        assert finds.pools == 1
        # What this command holds itself; the one before it left hundreds.
        assert finds.bound < 200
        texts = [
            project.folder / "target" / "manifest.json",
            *(project.folder / "logs").iterdir(),
            *(project.home / "logs").iterdir(),
        ]
        assert not [one for one in texts if secret in (text := one.read_text()) or hidden in text]
