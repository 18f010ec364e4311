"""A home that an earlier version made: the present one goes on with it."""

from __future__ import annotations

import fcntl
import gzip
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
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.runner import DBT, REPO, add_jars

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ARCHIVE = REPO / "tests/data/home_before.tar.gz"
# The metastore keeps the places of its tables, so a home goes on where it was made.
MADE_AT = Path("/tmp/alluvium-before")


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


def land(root: Path, number: int) -> None:
    subprocess.run(["python3", str(root / "land.py"), str(number)], check=True)


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


def table(root: Path, name: str) -> pd.DataFrame:
    """The rows of a table as delta-rs reads them."""
    return by_query(DeltaTable(root / ".alluvium/warehouse" / name)).to_pandas()


def landed(root: Path, feed: str) -> pd.DataFrame:
    """Every landed line: its file, its place, and what is in it."""
    rows: list[dict[str, Any]] = []
    for path in sorted((root / "landing" / feed).iterdir()):
        opener: Any = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt") as file:
            rows += [
                {"file": path.name, "line": place} | json.loads(line)
                for place, line in enumerate(file)
            ]
    return pd.DataFrame(rows)


def newest(events: pd.DataFrame, *keys: str) -> pd.DataFrame:
    return events.sort_values("Version").groupby(list(keys)).tail(1)


def check_bronze(root: Path) -> None:
    """Each event is in bronze once."""
    for feed, name in (("orders", "orders_events"), ("clicks", "clicks")):
        bronze = table(root, f"shop.db/{name}")
        places = bronze[["_source_partition", "_source_offset"]].apply(tuple, axis=1)
        assert sorted(places) == sorted(landed(root, feed)[["file", "line"]].apply(tuple, axis=1))


def check_merged(root: Path, runs: int) -> None:
    """Each merged table has the newest of every key."""
    orders = landed(root, "orders")
    merged = table(root, "shop.db/orders")
    columns = ["orderid", "version", "createdat", "region", "op", "_deleted"]
    assert merged.columns.tolist() == columns
    expected = newest(orders, "OrderId")
    live = expected[expected["Op"] != "d"]
    is_live = ~merged["_deleted"].astype("boolean").fillna(False)
    for rows, wanted in ((merged[is_live], live), (merged, expected)):
        found = rows[["orderid", "version", "region"]].apply(tuple, axis=1)
        assert sorted(found) == sorted(
            wanted[["OrderId", "Version", "Region"]].apply(tuple, axis=1)
        )

    by_region = table(root, "shop_marts.db/by_region")
    assert by_region.columns.tolist() == ["orderid", "region", "version"]
    found = by_region[["orderid", "region", "version"]].apply(tuple, axis=1)
    wanted = newest(orders, "OrderId", "Region")[["OrderId", "Region", "Version"]]
    assert sorted(found) == sorted(wanted.apply(tuple, axis=1))

    assert sorted(table(root, "shop.db/history")["RunNo"]) == list(range(1, runs + 1))
    plain = table(root, "shop.db/plain")
    assert dict(zip(plain["Id"], plain["V"], strict=True)) == {
        number % 2: number for number in (runs - 1, runs)
    }


def test_it_goes_on_where_it_was_made(made_at: Path) -> None:
    # What was cut off is delivered whole, under its name.
    cut = made_at / "landing/orders/4.json.gz"
    land(made_at, 4)
    cut.write_bytes(gzip.compress(cut.with_suffix("").read_bytes()))
    cut.with_suffix("").unlink()
    land(made_at, 5)
    dbt(made_at, "deps")
    dbt(made_at, "run", "--vars", "{n: 5}")
    check_bronze(made_at)
    check_merged(made_at, 5)


def test_a_copy_writes_its_own_tables(made_at: Path, tmp_path: Path) -> None:
    copy = unpack(tmp_path / "a copy")
    for root in (made_at, copy):
        (root / "landing/orders/4.json.gz").unlink()
    kept = {path: path.read_bytes() for path in made_at.rglob("*") if path.is_file()}
    land(copy, 5)
    dbt(copy, "deps")
    said = dbt(copy, "run", "--vars", "{n: 5}")
    assert f"was made in {made_at / '.alluvium'}" in said
    assert f"may still show files of {made_at / '.alluvium'}" in said
    recovered = dbt(copy, "run-operation", "alluvium.recover", "--args", "{dry_run: false}")
    assert "may still show files" in recovered
    assert not (copy / ".alluvium/metastore/moved_from").exists()
    check_bronze(copy)
    check_merged(copy, 5)
    assert {path: path.read_bytes() for path in made_at.rglob("*") if path.is_file()} == kept
