"""Tables on S3 from landing to published: what holds on a local disk holds there."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from functional.placed import PlacedProject, order
from functional.runner import add_jars
from support import s3

from alluvium.engine import session as engine

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# A name that nothing has at the root of this machine's disk.
FOLDER = f"warehouse-{uuid.uuid4().hex[:8]}"


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
