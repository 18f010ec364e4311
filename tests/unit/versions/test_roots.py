"""The folders of tables that folders of files belong to."""

from __future__ import annotations

from typing import Any

import pytest

from alluvium.delta import dependents
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
