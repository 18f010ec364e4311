"""The folders of tables that folders of files belong to."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from alluvium.delta.refs import dependents, unregistered
from alluvium.delta.refs.relocated import Relocation
from alluvium.paths import Place

LOGS = {
    "file:/lake/my table[1]/_delta_log",
    "file:/lake/my table[1]/_alluvium/tags/a/_delta_log",
    "file:/lake/other/_delta_log",
    "s3://bucket/_delta_log",
    "s3://bucket-2/t/_delta_log",
    "hdfs://name:8020/t/_delta_log",
    "/t/_delta_log",
}


class Store:
    """Files of which only logs are known."""

    def __init__(self, *_: Any) -> None:
        self.asked = 0

    def is_there(self, path: str) -> bool:
        self.asked += 1
        return path in LOGS


@pytest.mark.parametrize(
    ("folder", "root"),
    [
        ("file:/lake/my table[1]", "file:/lake/my table[1]"),
        ("file:/lake/my table[1]/day=2026-01-01/hour=0", "file:/lake/my table[1]"),
        ("file:/lake/my table[1]/_alluvium/tags/a", "file:/lake/my table[1]/_alluvium/tags/a"),
        ("file:/lake/other/at=12:00//b", "file:/lake/other"),
        ("file:/lake/others", None),
        ("file:/", None),
        # As `log.qualified` writes the root of a file system.
        ("s3://bucket", "s3://bucket/"),
        ("s3://bucket/", "s3://bucket/"),
        ("s3://bucket/day=1", "s3://bucket/"),
        ("s3://bucket-2/t/day=1", "s3://bucket-2/t"),
        ("s3://bucket-2", None),
        ("hdfs://name:8020/t/a", "hdfs://name:8020/t"),
        ("hdfs://name:8020/u/a", None),
        ("/t/a", "/t"),
        ("/", None),
    ],
)
def test_the_table_that_a_folder_belongs_to(folder: str, root: str | None) -> None:
    assert dependents.root_of(Store(), folder) == root


@pytest.mark.parametrize("folder", ["s3://bucket", "s3://bucket/"])
def test_what_lies_in_the_root_of_a_file_system(folder: str) -> None:
    assert "s3://bucket/part-0.parquet".startswith(Place.of(folder).below)
    assert not "s3://bucket-2/part-0.parquet".startswith(Place.of(folder).below)


def test_each_table_once_and_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    monkeypatch.setattr(dependents, "Files", lambda _: store)
    days = [f"file:/lake/other/day={day}" for day in range(100)]
    folders = [*days, "s3://bucket/a", "s3://bucket-2/t", "file:///lake/my table[1]/b", "file:/x"]
    found = dependents.roots_of(None, folders, "s3://bucket/")
    assert found == ["file:/lake/my table[1]", "file:/lake/other", "s3://bucket-2/t"]
    assert store.asked < len(days)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ("file:/a%20home/warehouse/s.db", "/a home/warehouse/s.db/t"),
        ("file:///a%2520home/s.db/", "/a%20home/s.db/t"),
        ("s3a://bucket/lake/s.db", "s3a://bucket/lake/s.db/t"),
        ("s3a://bucket", "s3a://bucket/t"),
    ],
)
def test_where_a_table_of_a_schema_is_made(schema: str, place: str) -> None:
    session = MagicMock()
    catalog = session._jsparkSession.sessionState().catalog()
    catalog.getDatabaseMetadata("s").locationUri.return_value = schema
    assert unregistered.default_location(session, "s", "T") == place


@pytest.mark.parametrize(
    ("uri", "moved"),
    [
        ("file:/old%20home/t/a%20b%2525/p+", "s3a://bucket/new%20home/t/a%20b%2525/p+"),
        ("file:///old%20home/t/p", "s3a://bucket/new%20home/t/p"),
        ("/old%20home/t/p", "s3a://bucket/new%20home/t/p"),
        # Another folder whose name begins so, one elsewhere, and one of the table's own.
        ("file:/old%20home/t2/p", None),
        ("s3a://bucket/old%20home/t/p", None),
        ("a%20b/p", None),
        ("../t2/p", None),
    ],
)
def test_a_file_of_an_old_folder_is_in_the_new_one(uri: str, moved: str | None) -> None:
    move = object.__new__(Relocation)
    move._root = Place.of("s3a://bucket/new home/shown")
    move._places = [(Place.of("file:/old home/t"), Place.of("s3a://bucket/new home/t"))]
    assert move._new_uri(uri) == moved
