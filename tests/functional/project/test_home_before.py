"""A home that an earlier version made (`tests/data/home_before.py`): the present one goes on."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from data.home_before import ARCHIVE, BRANCH, MADE_AT, SKIPPED, STORAGE, events, land
from deltalake import DeltaTable
from functional.delta_rs import by_query, folder_of, versions
from functional.runner import DBT, REPO, add_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# What is added to the project: rows of then, and a vacuum of all that nobody needs.
ADDED = {
    "models/then.sql": """{{ config(materialized='table') }}
select * from {{ alluvium.at(ref('orders_wap'), tag='accepted') }}
""",
    "macros/clean.sql": """{% macro clean() %}
{% set table = api.Relation.create(schema='shop', identifier='orders_wap') %}
{% do run_query("alter table " ~ table ~ " set tblproperties"
  ~ " ('delta.deletedFileRetentionDuration' = 'interval 0 hours')") %}
{% do run_query("set spark.databricks.delta.retentionDurationCheck.enabled = false") %}
{% do adapter.vacuum(table, false) %}
{% endmacro %}
""",
}


@pytest.fixture
def made_at() -> Iterator[Path]:
    """The project and its home where they were made, in the state of then."""
    with Path(f"{MADE_AT}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(MADE_AT, ignore_errors=True)
        try:
            yield unpack(MADE_AT)
        finally:
            shutil.rmtree(MADE_AT, ignore_errors=True)


def unpack(root: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            member.name = str(Path(member.name).relative_to(MADE_AT.name))
            archive.extract(member, root)
    add_jars(root / ".alluvium")
    return root


def dbt(root: Path, *args: str) -> str:
    """Run dbt as a process of its own, for its home is not that of the other tests."""
    environ = os.environ | {"ALLUVIUM_PACKAGE": str(REPO), "DBT_PROFILES_DIR": str(root)}
    run = subprocess.run(
        [*DBT, *args, "--project-dir", str(root)],
        env=environ,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def operate(root: Path, operation: str, **given: Any) -> str:
    return dbt(root, "run-operation", f"alluvium.{operation}", "--args", json.dumps(given))


def folder(root: Path, table: str, schema: str = "shop") -> Path:
    return folder_of(root / ".alluvium", schema, table)


def table(root: Path, name: str, schema: str = "shop") -> pd.DataFrame:
    """The rows of a table as delta-rs reads them."""
    return by_query(DeltaTable(folder(root, name, schema))).to_pandas()


def newest(*files: int) -> set[tuple[int, int, bool]]:
    """Key, version and whether it ended, of the newest events of some files."""
    found = {one["order_id"]: one for number in sorted(files) for one in events(number)}
    return {(key, one["version"], one["op"] == "d") for key, one in found.items()}


def live(*files: int) -> set[tuple[int, int]]:
    return {(key, version) for key, version, ended in newest(*files) if not ended}


def merged(rows: pd.DataFrame) -> set[tuple[int, int, bool]]:
    ended = rows["_deleted"].astype("boolean").fillna(False)
    found = list(zip(rows["order_id"], rows["version"], ended, strict=True))
    assert len(found) == len(set(found)) == rows["order_id"].nunique()
    return set(found)


def plain(rows: pd.DataFrame) -> set[tuple[int, int]]:
    found = list(zip(rows["order_id"], rows["version"], strict=True))
    assert len(found) == rows["order_id"].nunique()
    return set(found)


def check(root: Path, last: int) -> None:
    """Each event is in bronze once; the tables are those of files 1 to `last`."""
    files = range(1, last + 1)
    bronze = table(root, "orders_events")
    assert sorted(zip(bronze["_source_partition"], bronze["_source_offset"], strict=True)) == [
        (f"{number}.json", line) for number in files for line in range(10)
    ]
    seen = [number for number in files if number != SKIPPED]
    assert merged(table(root, "orders_wap")) == newest(*seen)
    assert plain(table(root, "orders")) == live(*seen)
    assert plain(table(root, "totals")) == live(*files)


def test_it_goes_on_where_it_was_made(made_at: Path) -> None:
    for name, text in ADDED.items():
        (made_at / name).parent.mkdir(parents=True, exist_ok=True)
        (made_at / name).write_text(text)
    before = versions(made_at / ".alluvium", "shop", "orders_events")
    dbt(made_at, "deps")
    # The branch has file 5, the tables have not.
    assert merged(table(made_at, "orders_wap")) == newest(1, 2, 4)
    operate(made_at, "merge_branch", name=BRANCH, models="orders_wap")
    assert merged(table(made_at, "orders_wap")) == newest(1, 2, 4, 5)
    said = dbt(made_at, "build")
    assert "orders_events: up to date" in said
    assert versions(made_at / ".alluvium", "shop", "orders_events") == before
    check(made_at, 5)
    assert plain(table(made_at, "then")) == live(1, 2)  # `at` hides tombstones, as `ref` does
    land(made_at, 6)
    dbt(made_at, "build", "--exclude", "then")
    check(made_at, 6)
    said = operate(made_at, "commits", model="orders_wap", limit=100)
    for name in ("tag accepted", f"branch {BRANCH}", "HEAD of orders", "leaves out batch"):
        assert name in said, said
    # What others need stays: the tag, the branch, and what readers see.
    operate(made_at, "fsck")
    dbt(made_at, "run-operation", "clean")
    check(made_at, 6)
    tag = DeltaTable(folder(made_at, "orders_wap") / "_alluvium/tags/accepted")
    assert merged(by_query(tag).to_pandas()) == newest(1, 2)
    branch = table(made_at, "orders_wap", f"shop__{BRANCH}")
    assert merged(branch) == newest(1, 2, 4, 5)
    dbt(made_at, *STORAGE)
    snapshots = table(made_at, "alluvium_snapshots")
    of_wap = snapshots[snapshots["model"] == "orders_wap"].set_index("version")
    wap = DeltaTable(folder(made_at, "orders_wap"))
    assert sorted(of_wap.index) == list(range(wap.version() + 1))
    assert of_wap["blocks"].loc[wap.version()] == len(wap.file_uris())
    compactions = table(made_at, "alluvium_compactions")
    assert set(compactions["version"]) <= set(of_wap.index[of_wap["operation"] == "OPTIMIZE"])
    assert len(compactions) > 0


def test_a_copy_writes_its_own_tables(made_at: Path, tmp_path: Path) -> None:
    copy = unpack(tmp_path / "a copy")
    kept = {path: path.read_bytes() for path in made_at.rglob("*") if path.is_file()}
    land(copy, 6)
    dbt(copy, "deps")
    said = dbt(copy, "build")
    assert f"was made in {made_at / '.alluvium'}" in said
    assert f"may still show files of {made_at / '.alluvium'}" in said
    operate(copy, "recover", dry_run=False)
    assert not (copy / ".alluvium/metastore/moved_from").exists()
    dbt(copy, "build")
    check(copy, 6)
    assert {path: path.read_bytes() for path in made_at.rglob("*") if path.is_file()} == kept
