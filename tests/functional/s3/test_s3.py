"""Tables on S3 from landing to published: what holds on a local disk holds there."""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from deltalake import CommitProperties, DeltaTable, write_deltalake
from functional.delta_rs import by_query
from functional.placed import FILES, PlacedProject, order, tasks
from functional.runner import add_jars
from pyspark import SparkContext
from pyspark.sql import SparkSession
from support import s3

from alluvium.command import main as command
from alluvium.engine import session as engine
from alluvium.paths import name_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# A name that nothing has at the root of this machine's disk.
FOLDER = f"warehouse-{uuid.uuid4().hex[:8]}"
NO_AUDIT = {"alluvium_publish": {"audit": "none"}}
CHECKPOINT = re.compile(r"/(\d{20})\.checkpoint\.")
COMMIT = re.compile(r"/\d{20}\.json$")
# How answers are spoilt: not seen, or an error, behind the write and before it.
KINDS = tuple(f"{kind}-{when}" for when in ("after", "before") for kind in ("cut", "500", "503"))


@pytest.fixture(scope="module")
def project(s3_server: s3.S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacedProject]:
    root = tmp_path_factory.mktemp("shop")
    home = add_jars(root / "home")
    conf = {f"spark.hadoop.{key}": value for key, value in s3_server.settings.items()}
    conf |= {"spark.sql.warehouse.dir": f"s3a://lake/{FOLDER}", "spark.sql.shuffle.partitions": "2"}
    target = {"type": "alluvium", "home": str(home), "master": "local[2]", "spark_conf": conf}
    absent = {**conf, "spark.sql.warehouse.dir": "s3a://absent/warehouse"}
    outputs = {
        "t": {**target, "schema": "shop"},
        "fix": {**target, "schema": "shop__fix"},
        "alone": {**target, "schema": "shop", "single_writer": True},
        "absent": {**target, "schema": "shop", "spark_conf": absent},
    }
    made = PlacedProject(root, home, "shop")
    made.on_s3(s3_server, f"s3a://lake/{FOLDER}")
    made.write({"profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": outputs}})})
    yield made
    engine.stop()


def test_a_table_lives_on_s3(project: PlacedProject, s3_server: s3.S3) -> None:
    rows = project.land(1, {}, *(order(id, 1) for id in range(40)))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    # Updates, deletes, and a key that comes and goes.
    gone = (order(id, 2, "D") for id in (20, 21))
    rows = project.land(2, rows, *(order(id, 2) for id in range(10)), *gone)
    rows = project.land(3, rows, order(50, 1), order(51, 1), order(51, 2, "D"))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    project.operate("compact", model="orders_wap")
    assert project.rows("orders_wap") == rows

    rows = project.merge_a_branch(4, rows)
    project.operate("clone", model="orders_wap", to="shop.copy")
    assert project.rows("copy") == rows
    project.operate("discard", name="fix", dry_run=False)

    # A lost metastore.
    engine.stop()
    shutil.rmtree(project.home / "metastore")
    rows = project.land(5, rows, order(70, 1))
    project.dbt("build")
    assert project.said("was lost to the metastore, and is back")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    assert len(project.table("events").to_pyarrow_table()) == 40 + 12 + 3 + 3 + 1

    # Each commit was one conditional PUT, and nothing of a table lies on this machine's disk.
    commits = [
        one
        for one in s3_server.requests(".json")
        if "/_delta_log/0" in one["path"] and one["method"] == "PUT" and one["status"] == 200
    ]
    assert len(commits) > 20
    assert all(one["conditional"] for one in commits)
    assert not Path("/", FOLDER).exists()
    logs = {path.parent for path in project.home.rglob("_delta_log")}
    assert logs <= {project.home / "scratch" / "warm"}


def newest(project: PlacedProject, table: str, operation: str) -> int:
    """The newest version that an operation made."""
    history = project.table(table).history()
    return max(one["version"] for one in history if one["operation"] == operation)


def damaged(project: PlacedProject, *said: str) -> None:
    """What fsck says of the project's tables, which it then fails for."""
    assert not project.try_dbt("run-operation", "alluvium.fsck").success
    for text in said:
        assert project.said(text), project.lines


@pytest.mark.proves("recovery", on="s3")
def test_damages(project: PlacedProject) -> None:
    """Each is named and put right, and the next build brings in again what was lost."""
    before = project.rows("orders_wap")
    known = len(by_query(project.table("events")))
    rows = project.land(10, before, order(90, 1), order(0, 10), order(2, 10, "D"))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    # The newest commit, which brought these events, is half there; so is a checkpoint's name.
    version = newest(project, "orders_wap", "MERGE")
    log = f"{project.warehouse}/shop.db/orders_wap/_delta_log"
    for uri in project.files_below(log):
        found = CHECKPOINT.search(uri)
        if found and int(found[1]) >= version:  # nothing would be lost
            project.delete_file(uri)
    project.write_file(f"{log}/{version:020}.json", b'{"commitInfo":{"timest')
    project.write_file(f"{log}/_last_checkpoint", b"{")
    damaged(project, f"1 commit unreadable ({version:020}.json)", "newest checkpoint cannot be")
    project.operate("recover")
    assert project.said(f"would go back to version {version - 1}"), project.lines
    project.operate("recover", dry_run=False)
    assert project.rows("orders_wap") == project.rows("orders") == before
    project.operate("fsck")
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows

    # A data file is gone, and what the stream noted of its files.
    [gone, *_] = project.table("orders_wap").file_uris()
    project.delete_file(gone)
    checkpoint = project.files_below(f"{project.warehouse}/_checkpoints/shop.events")
    [noted] = [one for one in checkpoint if one.endswith(".all")]
    project.write_file(noted, b"{")
    damaged(project, gone.rpartition("/")[2], "its checkpoint is damaged")
    project.operate("recover", dry_run=False)
    assert project.said("its checkpoint to s3a://"), project.lines
    project.operate("fsck")
    rows = project.land(11, rows, order(91, 1))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    lines = by_query(project.table("events"), "select _source_partition, _source_offset from t")
    assert len(lines) == len(set(zip(*lines.to_pydict().values(), strict=True))) == known + 4


@pytest.mark.proves("compaction", on="s3")
def test_vacuum(
    project: PlacedProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes what no table needs, and with few tasks."""
    tagged = project.rows("orders_wap")
    project.operate("tag", model="orders_wap", name="kept")
    rows = project.land(12, tagged, *(order(id, 12) for id in range(100, 110)), order(0, 12))
    project.dbt("build")
    project.dbt("run-operation", "forget", "--args", "{name: orders_wap}")
    folder = f"{project.warehouse}/shop.db/orders_wap"
    orphan = f"{folder}/a-killed-write.parquet"
    project.write_file(orphan, b"PAR1 half")

    def needed() -> set[str]:
        """By all that delta-rs sees of the tables that show its files."""
        found = set(project.table("orders_wap").file_uris())
        for place in (f"{project.warehouse}/shop.db/{name}" for name in ("orders", "copy")):
            table = DeltaTable(place, storage_options=project.storage)
            for version in range(table.version() + 1):
                table.load_as_version(version)
                found |= set(table.file_uris())
        tag = f"{folder}/_alluvium/tags/kept"
        found |= set(DeltaTable(tag, storage_options=project.storage).file_uris())
        return {name_of(one) for one in found}

    def there() -> set[str]:
        found = project.files_below(folder)
        return {name_of(one) for one in found if re.fullmatch(f"{folder}/[^/]*parquet", one)}

    before = there()
    assert name_of(orphan) in before - needed()
    project.operate("vacuum", model="orders_wap")
    assert project.said(orphan)
    assert there() == before
    began = tasks("totalTasks")
    project.operate("vacuum", model="orders_wap", dry_run=False)
    assert tasks("totalTasks") - began < 150  # 48 as this was written
    # On S3 Delta would not note it, and status would go on to ask for it.
    assert newest(project, "orders_wap", "VACUUM END") == project.table("orders_wap").version()
    monkeypatch.setenv("DBT_PROFILES_DIR", str(project.root))
    command.main(["status", "--project-dir", str(project.root)])
    assert "VACUUM" not in capsys.readouterr().out
    assert there() == before & needed()
    assert project.rows("orders") == project.rows("orders_wap") == rows
    project.operate("clone", model="orders_wap", to="shop.tagged", tag="kept")
    assert project.rows("tagged") == tagged
    project.operate("fsck")


def test_adoption(project: PlacedProject) -> None:
    """A table gets another name there, with what it has merged."""
    model = FILES["models/orders_wap.sql"]
    project.write({"models/items.sql": model.replace("orders_wap", "items")})
    project.dbt("run", "-s", "items")
    rows = project.rows("items")
    assert rows == project.rows("orders_wap")
    project.operate("adopt", model="items", dry_run=False)
    published = FILES["models/orders.sql"].replace("orders_wap", "items_wap")
    published = published.replace("'published'", f"'published', meta={NO_AUDIT}")
    project.write(
        {
            "models/items_wap.sql": model.replace("orders_wap", "items_wap"),
            "models/items.sql": published,
        }
    )
    rows = project.land(13, rows, order(92, 1), order(3, 13, "D"))
    project.dbt("build", "-s", "events", "items_wap+", "orders_wap+")
    assert project.rows("items") == project.rows("items_wap") == project.rows("orders") == rows
    merges = [one for one in project.table("items_wap").history() if one["operation"] == "MERGE"]
    assert len(merges) == 2
    project.remove("models/items.sql", "models/items_wap.sql")


def test_an_archive(project: PlacedProject) -> None:
    """Files that were read go to another folder of the bucket."""
    options = {"cleanSource": "archive", "sourceArchiveDir": "s3a://lake/archive"}
    stream = {"format": "text", "path": "s3a://lake/inbox", "options": options}
    table = {"name": "inbox", "config": {"meta": {"alluvium_stream": stream}}}
    project.write(
        {
            "models/inbox.yml": yaml.safe_dump({"sources": [{"name": "box", "tables": [table]}]}),
            "models/inbox_events.sql": "{{ config(materialized='streaming_table') }}"
            " select * from {{ source('box', 'inbox') }}",
        }
    )
    for name in "ab":
        project.write_file(f"s3a://lake/inbox/{name}.txt", name.encode())
        project.dbt("run", "-s", "inbox_events")
        assert project.files_below("s3a://lake/inbox") == set()
    archived = {f"s3a://lake/archive/inbox/{name}.txt" for name in "ab"}
    assert project.files_below("s3a://lake/archive") == archived
    values = by_query(project.table("inbox_events"), "select _value from t")["_value"]
    assert sorted(map(str, values.to_pylist())) == ["a", "b"]
    project.remove("models/inbox.yml", "models/inbox_events.sql")


EACH = 100


def test_spark_beside_delta_rs(project: PlacedProject, s3_server: s3.S3) -> None:
    """Both append to one table, and answers to Spark are spoilt: each row is there once."""
    project.dbt("run", "-s", "events")
    place = "s3a://lake/raced"
    write_deltalake(
        place,
        pa.table({"id": pa.array([], pa.int64())}),
        storage_options=project.storage,
        configuration={"delta.checkpointInterval": "10"},
    )
    s3_server.spoil(*KINDS, every=9, match="raced/_delta_log/0", agent="Hadoop")

    def append(number: int) -> None:
        row = pa.table({"id": pa.array([number], pa.int64())})
        many = CommitProperties(max_commit_retries=EACH)
        write_deltalake(
            place, row, mode="append", storage_options=project.storage, commit_properties=many
        )

    def by_rust(spark: Future[None]) -> None:
        for number in range(EACH, 2 * EACH):
            while len(appended) < number - EACH and not spark.done():
                time.sleep(0.01)
            append(number)

    appended: list[int] = []
    session = SparkSession(SparkContext._active_spark_context)

    def by_spark() -> None:
        for number in range(EACH):
            rows = session.range(number, number + 1, 1, 1)
            rows.write.format("delta").mode("append").save(place)
            appended.append(number)

    try:
        with ThreadPoolExecutor(2) as pool:
            spark = pool.submit(by_spark)
            pool.submit(by_rust, spark).result()
            spark.result()
    finally:
        s3_server.heal()
    table = DeltaTable(place, storage_options=project.storage)
    assert sorted(by_query(table)["id"].to_pylist()) == [*range(2 * EACH)]
    commits = [one for one in project.files_below(f"{place}/_delta_log") if COMMIT.search(one)]
    assert len(commits) == table.version() + 1 == 2 * EACH + 1
    spoilt = {one["spoilt"] for one in s3_server.requests("raced/_delta_log/0")} - {""}
    assert spoilt == set(KINDS)
    # A commit that another process has just made is seen.
    for number in range(2 * EACH, 2 * EACH + 3):
        append(number)
        assert session.read.format("delta").load(place).count() == number + 1


def test_a_single_writer_is_told_so(project: PlacedProject, s3_server: s3.S3) -> None:
    before = len(s3_server.requests("events/_delta_log/0"))
    rows = project.land(6, project.rows("orders_wap"), order(80, 1))
    project.dbt("build", "-s", "events", "orders_wap", "--target", "alone")
    assert project.rows("orders_wap") == rows
    assert project.said("`single_writer: true` in the profile: commits to s3a:// are not kept")
    commits = s3_server.requests("events/_delta_log/0")[before:]
    puts = [one for one in commits if one["method"] == "PUT" and one["path"].endswith(".json")]
    assert puts
    assert not any(one["conditional"] for one in puts)


def test_an_absent_bucket_stops_the_start(project: PlacedProject) -> None:
    assert not project.try_dbt("build", "--target", "absent").success
    [said, *_] = project.said("Bucket absent (s3a://absent/warehouse) cannot be read at http://")
    assert "The specified bucket does not exist. Settings: spark.hadoop.fs.s3a.access.key" in said
    assert s3.SECRET not in "\n".join(project.lines)


def test_no_key_is_told(project: PlacedProject) -> None:
    texts = [
        *project.home.glob("logs/*"),
        *project.root.glob("logs/*"),
        *project.root.glob("target/*"),
    ]
    assert len(texts) > 3
    for path in texts:
        if path.is_file():
            assert s3.SECRET not in path.read_text(errors="ignore"), path
