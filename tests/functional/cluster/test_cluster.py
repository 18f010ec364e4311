"""A small project on master, workers, PostgreSQL and S3: what holds on one machine holds there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from deltalake import DeltaTable
from functional.cluster.conftest import running_on, started
from functional.delta_rs import by_query, rows_of
from functional.placed import PlacedProject, order, tasks
from functional.project import expected, story
from functional.project.reference import Reference, copy_repository, groups
from functional.runner import DBT, REPO, add_jars
from oracle import runways
from oracle.flights import replay_duckdb
from pyarrow import fs
from pyspark import __version__ as spark_version
from support import cluster, postgres, s3
from support.cluster import Cluster
from support.kafka_broker import broker

from alluvium.command import main as command
from alluvium.delta.merge.merge_command import MergeCommand
from alluvium.demo.edits import replay_edits
from alluvium.demo.flights import Delivery, replay_flights
from alluvium.engine import session as engine

pytestmark = [pytest.mark.spark, pytest.mark.network]
EVERY = 42  # of so many runways one lands


@pytest.fixture(scope="module")
def servers() -> Iterator[Cluster]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def project(servers: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacedProject]:
    root = tmp_path_factory.mktemp("shop")
    made = PlacedProject(root, add_jars(root / "home"), "shop")
    made.on_s3(servers.store, f"s3a://{cluster.BUCKET}/warehouse")
    outputs = yaml.safe_load((REPO / "profiles/profiles.yml").read_text())["alluvium"]["outputs"]
    outputs["fix"] = {**outputs["cluster"], "schema": "shop__fix"}
    made.write({"profiles.yml": yaml.safe_dump({"p": {"target": "cluster", "outputs": outputs}})})
    with running_on(servers, made):
        yield made


def holders() -> set[str]:
    """Ids of the executors that have the rows which were kept last: the batch of a merge."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    kept = context._jsc.getPersistentRDDs()
    last = max(kept)
    blocks = context._jvm.org.apache.spark.storage.RDDBlockId
    master = context._jsc.sc().env().blockManager().master()
    places = [master.getLocations(blocks(last, at)) for at in range(kept[last].getNumPartitions())]
    return {one.apply(at).executorId() for one in places for at in range(one.size())}


def kill_in_a_merge(servers: Cluster, patch: pytest.MonkeyPatch) -> list[int]:
    """Whoever has the rows of a merge is killed between two reads of it; gives which."""
    killed: list[int] = []
    look = MergeCommand.materialise_matches

    def look_after_a_kill(self: MergeCommand, *given: Any) -> Any:
        if not killed:
            names = holders()
            killed.extend(one for one, name in servers.executors.items() if name in names)
            for process in killed:
                os.kill(process, signal.SIGKILL)
        return look(self, *given)

    patch.setattr(MergeCommand, "materialise_matches", look_after_a_kill)
    return killed


def objects(servers: Cluster) -> dict[str, bytes]:
    files = servers.store.files()
    listed = files.get_file_info(fs.FileSelector(cluster.BUCKET, recursive=True))
    return {one.path: files.open_input_stream(one.path).readall() for one in listed if one.is_file}


@pytest.mark.proves("files", "merge", "compaction", "publish", "branch", "lost executor", on="s3")
def test_a_small_project(
    servers: Cluster, project: PlacedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = project.land(1, {}, *(order(id, 1) for id in range(40)))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    assert len(servers.executors) == cluster.WORKERS
    assert tasks("failedTasks") == 0

    # The executor with its rows is lost in a merge with deletes.
    gone = (order(id, 2, "D") for id in (20, 21))
    rows = project.land(2, rows, *(order(id, 2) for id in range(10)), *gone)
    with monkeypatch.context() as patch:
        killed = kill_in_a_merge(servers, patch)
        project.dbt("build")
    assert killed
    assert project.said("begun again after 1 lost executor")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    project.operate("compact", model="orders_wap")
    assert project.rows("orders_wap") == rows

    project.merge_a_branch(3, rows)


def test_what_a_build_with_nothing_new_asks(servers: Cluster, project: PlacedProject) -> None:
    """After the one before. It asked 86 as this was written."""
    before = len(servers.store.requests(""))
    project.dbt("build")
    assert 0 < len(servers.store.requests("")) - before < 100


def test_nothing_lies_elsewhere(servers: Cluster, project: PlacedProject) -> None:
    """After the others: no table on a disk, and no key in what people and machines read."""
    for folder in (project.root, *servers.folder.glob("worker-*")):
        assert not [one for one in folder.rglob("*.parquet") if "dbt_packages" not in one.parts]
        assert not [*folder.rglob("_delta_log")]
    assert not Path("/warehouse").exists()
    hidden = [servers.password.encode(), s3.SECRET.encode()]
    stored = objects(servers)
    assert len(stored) > 30
    texts = [*project.root.rglob("*"), *servers.folder.rglob("*"), *Path("/proc").glob("*/cmdline")]
    jars = (".jar", ".so")
    for path in texts:
        if path.is_file() and path.suffix not in jars and "python" not in path.parts:
            try:
                stored[str(path)] = path.read_bytes()
            except OSError:  # of a process that has ended
                continue
    assert [name for name, text in stored.items() if any(one in text for one in hidden)] == []


class OnS3(Reference):
    """The reference project whose files land on S3, and whose tables lie there."""

    store: s3.S3

    def land(self, files: Sequence[Path]) -> None:
        known = len(self.landed)
        super().land(files)
        self.upload(self.landed[known:])

    def upload(self, files: Iterable[Path]) -> None:
        """Of files below the local landing folder, which the oracle reads."""
        for path in files:
            name = path.relative_to(self.landing.parent)
            with self.store.files().open_output_stream(f"{cluster.BUCKET}/landing/{name}") as file:
                file.write(path.read_bytes())

    def of(self, name: str) -> DeltaTable:
        place = f"s3a://{cluster.BUCKET}/warehouse/{self.schema}.db/{name}"
        return DeltaTable(place, storage_options=self.store.delta_rs)

    def table(self, name: str) -> pd.DataFrame:
        return rows_of(self.of(name)).to_pandas()


@pytest.mark.slow
def test_the_reference_project(
    servers: Cluster, project: PlacedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three replays, the last one by a build of all, each beside the oracle."""
    monkeypatch.setenv("ALLUVIUM_SCHEMA", "reference")
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    made = OnS3(tmp_path / "reference", project.home, "reference")
    made.store = servers.store
    copy_repository(made.root)
    shutil.copy(made.root / "profiles/profiles.yml", made.root)
    replay_flights(tmp_path / "replayed", 1, None, Delivery())
    landed = sorted((tmp_path / "replayed/flights").rglob("*.jsonl"))
    batches = groups(landed, 3, seed=5)
    edits = made.landing.with_name("edits")
    wanted = replay_duckdb(batches)
    for batch in batches[:-1]:
        made.land(batch)
        made.run()
        made.check(next(wanted))
    made.land(batches[-1])
    replay_edits(edits.parent, 8, duplicate_rate=0.05)
    story.land(edits.parent, ["2025-01-30"], EVERY)
    made.upload(one for one in edits.parent.rglob("*") if one.is_file() and one not in made.landed)
    made.dbt("build")
    flights = next(wanted)
    made.check(flights)
    made.check_lines()
    files = sorted(edits.rglob("*.jsonl"))
    found = rows_of(made.of("edits"))
    expected.assert_holds(found, expected.EDITS_COLUMNS, expected.edits(files))
    for mart, query in expected.marts(files).items():
        expected.assert_holds(rows_of(made.of(mart)), "*", query, ("flights", flights.live))
    seen = by_query(made.of("runways"), story.QUERY.format("t")).cast(runways.IMAGE)
    assert seen.equals(story.as_of(1006, EVERY))


MORE = {
    "models/hits.sql": """
        {{ config(materialized='table', event_time='at') }}
        select id, timestamp'2026-01-01 05:00' + make_interval(0, 0, 0, int(id)) as at
        from range({{ var('hits', 2) }})
    """,
    "models/daily.sql": """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
                  batch_size='day', begin='2026-01-01') }}
        select * from {{ ref('hits') }}
    """,
    "models/lengths.py": """
def model(dbt, session):
    from pyspark.sql.functions import pandas_udf

    @pandas_udf("long")
    def twice(values):
        return values * 2

    ids = dbt.ref("hits").select("id")
    return ids.select("id", twice("id").alias("twice"))
""",
}
DAYS = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-05")


def ids(project: PlacedProject, name: str, schema: str = "shop") -> list[int]:
    return sorted(by_query(project.table(name, schema), "select id from t")["id"].to_pylist())


@pytest.mark.slow
@pytest.mark.proves("microbatch", "Python", "dbt clone", on="s3")
def test_other_models(project: PlacedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the others, as all that follow."""
    project.write(MORE)
    project.dbt("run", "-s", "hits", "daily", "lengths", *DAYS)
    assert ids(project, "daily") == [0, 1]
    project.dbt("run", "-s", "hits+", "--vars", "{hits: 3}", *DAYS)
    assert ids(project, "daily") == [0, 1, 2]
    twice = by_query(project.table("lengths"), "select id, twice from t").to_pylist()
    assert sorted(row["twice"] for row in twice) == [0, 2, 4]
    shutil.copytree(project.root / "target", project.root / "models_state")
    monkeypatch.setenv("ALLUVIUM_SCHEMA", "shop_copy")
    project.dbt("clone", "-s", "hits", "orders_wap", "--state", "models_state")
    assert ids(project, "hits", "shop_copy") == [0, 1, 2]
    assert project.rows("orders_wap", "shop_copy") == project.rows("orders_wap")


@pytest.mark.slow
@pytest.mark.proves("tags", "diff", "checkout", "restore", "pruning", on="s3")
def test_versions(project: PlacedProject) -> None:
    before = project.rows("orders_wap")
    version = project.table("orders_wap").version()
    project.operate("tag", model="orders_wap", name="good")
    after = project.land(10, before, order(70, 1), order(0, 9), order(2, 9, "D"))
    project.dbt("build", "-s", "events", "orders_wap+")
    assert project.rows("orders") == project.rows("orders_wap") == after
    project.operate("diff", model="orders_wap", **{"from": {"tag": "good"}})
    assert project.said("orders_wap: 1 added, 1 removed, 1 changed"), project.lines
    project.operate("clone", model="orders_wap", to="shop.before", tag="good")
    assert project.rows("before") == before
    project.operate("checkout", model="orders", version=version)
    assert project.rows("orders") == before
    project.operate("explain_read", model="orders_wap", where={"id": 70})
    assert project.said("left by automata"), project.lines
    project.operate("restore", model="orders_wap", version=version)
    assert project.rows("orders_wap") == before
    project.dbt("build", "-s", "orders_wap+")
    assert project.rows("orders_wap") == after
    assert project.rows("orders") == before
    project.operate("checkout", model="orders", version=version, hold=False)
    project.dbt("build", "-s", "orders_wap+")
    assert project.rows("orders") == after
    project.dbt("run-operation", "forget", "--args", "{name: orders_wap}")
    spare = f"{project.warehouse}/shop.db/orders_wap/a-killed-write.parquet"
    project.write_file(spare, b"PAR1 half")
    began = tasks("totalTasks")
    project.operate("vacuum", model="orders_wap")
    assert project.said(spare), project.lines
    project.operate("vacuum", model="orders_wap", dry_run=False)
    # 148 as this was written; Delta's own listing alone has 10,001.
    assert tasks("totalTasks") - began < 300
    assert spare not in project.files_below(spare.rpartition("/")[0])
    assert project.rows("before") == before
    assert project.rows("orders") == after


@pytest.mark.slow
@pytest.mark.proves("status", on="s3")
def test_status(project: PlacedProject, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--project-dir", str(project.root)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_PROFILES_DIR", str(project.root))
        assert command.main(["status", *place]) == 0, capsys.readouterr()
        said = capsys.readouterr().out
        assert command.main(["report", *place]) == 0
    assert "orders: newest arrival" in said
    assert "readers see version" in said
    assert "not read" not in said


@pytest.mark.slow
@pytest.mark.proves("two processes", on="s3")
def test_two_processes(
    servers: Cluster, project: PlacedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One feed, run by both at once: each event once."""
    new = (order(id, 1) for id in range(100, 140))
    rows = project.land(20, project.rows("orders_wap"), *new, order(0, 20))
    project.dbt("run", "-s", "events")
    home = add_jars(tmp_path / "home")
    words = [*DBT, "run", "-s", "orders_wap", "--target-path", str(tmp_path / "target")]
    words += ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    environment = {**os.environ, "ALLUVIUM_HOME": str(home)}
    text: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, env=environment, **text) as other:
        project.dbt("run", "-s", "orders_wap")
        said, _ = other.communicate(timeout=550)
    assert other.returncode == 0, said
    assert project.rows("orders_wap") == rows
    history = project.table("orders_wap").history(10)
    assert sum(one["operation"] == "MERGE" for one in history[:3]) == 1


@pytest.mark.slow
@pytest.mark.proves("Kafka", on="s3")
def test_a_topic(project: PlacedProject, tmp_path: Path) -> None:
    with broker(tmp_path / "broker", add_jars(tmp_path / "home")) as running:
        stream = {
            "format": "kafka",
            "topic": "orders",
            "options": {"kafka.bootstrap.servers": running.address},
        }
        table = {"name": "topic", "config": {"meta": {"alluvium_stream": stream}}}
        profile = yaml.safe_load((project.root / "profiles.yml").read_text())
        packages = profile["p"]["outputs"]["cluster"]["packages"]
        packages.append(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}")
        project.write(
            {
                "profiles.yml": yaml.safe_dump(profile),
                "models/topics.yml": yaml.safe_dump(
                    {"sources": [{"name": "broker", "tables": [table]}]}
                ),
                "models/topic_events.sql": "{{ config(materialized='streaming_table') }}"
                " select * from {{ source('broker', 'topic') }}",
            }
        )
        for wanted in (30, 50):
            running.send(
                "orders", [f"n:{one}\tkey\tvalue-{one}" for one in range(wanted - 20, wanted)]
            )
            project.dbt("run", "-s", "topic_events")
            found = by_query(project.table("topic_events"), "select _value from t")
            values = [f"value-{one}" for one in range(10, wanted)]
            assert sorted(found["_value"].to_pylist()) == sorted(values)
    project.remove("models/topics.yml", "models/topic_events.sql")


@pytest.mark.slow
@pytest.mark.proves("recovery", on="s3")
def test_a_lost_metastore(servers: Cluster, project: PlacedProject) -> None:
    rows = project.rows("orders_wap")
    project.operate("fsck", models=["orders_wap", "orders"])
    engine.stop()
    postgres.ask(servers.metastore.url, "drop schema public cascade; create schema public")
    rows = project.land(30, rows, order(200, 1))
    project.dbt("build", "-s", "events", "orders_wap+")
    assert project.said("was lost to the metastore, and is back")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    # A file is gone: it is named, and recover takes the table back to what is whole.
    [gone, *_] = project.table("orders_wap").file_uris()
    project.delete_file(gone)
    given = "{models: [orders_wap]}"
    assert not project.try_dbt("run-operation", "alluvium.fsck", "--args", given).success
    assert project.said(gone.rpartition("/")[2]), project.lines
    project.operate("recover", models=["orders_wap"], dry_run=False)
    project.operate("fsck", models=["orders_wap"])
    project.dbt("build", "-s", "orders_wap+")
    assert project.rows("orders") == project.rows("orders_wap") == rows
