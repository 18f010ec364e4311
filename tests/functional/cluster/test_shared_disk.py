"""A cluster whose machines see one disk: warehouse and landing folder under paths of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from functional.cluster.conftest import running_on, started
from functional.placed import PlacedProject, order
from functional.runner import REPO, add_jars
from support.cluster import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.network, pytest.mark.slow]


@pytest.fixture(scope="module")
def servers() -> Iterator[Cluster]:
    with started(shares_disk=True) as found:
        yield found


@pytest.fixture(scope="module")
def project(servers: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacedProject]:
    root = tmp_path_factory.mktemp("shop")
    made = PlacedProject(root, add_jars(root / "home"), "shop")
    made.on_disk(root / "shared/warehouse")
    profiles = (REPO / "profiles/profiles.yml").read_text()
    target = yaml.safe_load(profiles)["alluvium"]["outputs"]["cluster"]
    outputs: dict[str, Any] = {"t": target, "fix": {**target, "schema": "shop__fix"}}
    made.write({"profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": outputs}})})
    with running_on(servers, made), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_WAREHOUSE", made.warehouse)
        yield made


def test_local_paths_stop_a_run(project: PlacedProject) -> None:
    """Each machine would read and write a disk of its own, unless the profile says otherwise."""
    result = project.try_dbt("build")
    assert not result.success
    said = str(result.exception) + "\n".join(project.lines)
    assert "shared_disk: true" in said
    assert project.warehouse in said
    assert not Path(project.warehouse).exists()


@pytest.mark.proves("files", "merge", "compaction", "publish", "branch", on="disk")
@pytest.mark.proves("tags", "restore", "recovery", on="disk")
def test_a_small_project(project: PlacedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SHARED_DISK", "True")
    rows = project.land(1, {}, *(order(id, 1) for id in range(40)))
    project.dbt("build")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    gone = (order(id, 2, "D") for id in (20, 21))
    rows = project.land(2, rows, *(order(id, 2) for id in range(10)), *gone)
    project.dbt("build")
    project.operate("compact", model="orders_wap")
    assert project.rows("orders") == project.rows("orders_wap") == rows
    rows = project.merge_a_branch(3, rows)

    project.operate("tag", model="orders_wap", name="good")
    version = project.table("orders_wap").version()
    after = project.land(4, rows, order(70, 1), order(5, 9))
    project.dbt("build")
    assert project.rows("orders_wap") == after
    project.operate("clone", model="orders_wap", to="shop.before", tag="good")
    assert project.rows("before") == rows
    project.operate("restore", model="orders_wap", version=version)
    assert project.rows("orders_wap") == rows

    # A file that is gone is named.
    project.operate("fsck", models=["orders_wap"])
    project.dbt("build", "-s", "orders_wap+")
    assert project.rows("orders") == project.rows("orders_wap") == after
    [gone_file, *_] = project.table("orders_wap").file_uris()
    project.delete_file(gone_file)
    given = "{models: [orders_wap]}"
    assert not project.try_dbt("run-operation", "alluvium.fsck", "--args", given).success
    assert project.said(Path(gone_file).name), project.lines
    project.operate("recover", models=["orders_wap"], dry_run=False)
    project.operate("fsck", models=["orders_wap"])
    project.dbt("build", "-s", "orders_wap+")
    assert project.rows("orders") == project.rows("orders_wap") == after
