"""A table, and the rows that Python keeps of each of its versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from functional.delta_rs import by_query, folder_of
from pyspark.sql import SparkSession

from alluvium.delta import log

Rows = dict[int, str]
# As `from` has a table: by its path or by its name, at a version or the newest.
_RELATION = re.compile(
    r"(?:delta\.`(?:file:)?(?P<path>[^`]+)`|`?(?P<schema>\w+)`?\.`?(?P<name>\w+)`?)"
    r"(?: version as of (?P<version>\d+))?"
)


class Kept:
    """A table of `id` and `name`, what its rows should be, and what they were."""

    def __init__(self, spark: SparkSession, name: str, *properties: str) -> None:
        self.spark, self.name = spark, f"versions.{name}"
        self.rows: Rows = {}
        spark.sql("create database if not exists versions")
        listed = ", ".join(["'delta.enableDeletionVectors' = 'true'", *properties])
        spark.sql(
            f"create table {self.name} (id bigint, name string, _deleted boolean) using delta"
            f" tblproperties ({listed})"
        )
        self.versions: dict[int, Rows] = {0: {}}

    def do(self, sql: str, change: Callable[[Rows], object] = lambda _: None) -> int:
        """Run a statement about `{t}`; the version that it made."""
        self.spark.sql(sql.format(t=self.name))
        change(self.rows)
        return self._keep()

    def insert(self, *ids: int, commit: CommitProperties | None = None) -> int:
        """By delta-rs, which takes a twentieth of the time of Spark's INSERT."""
        new = {number: f"n{number}" for number in ids}
        append(self.folder, new, commit)
        self.rows.update(new)
        return self._keep()

    def delete(self, *ids: int) -> int:
        where = ", ".join(map(str, ids))
        gone = list(ids)
        return self.do(
            f"delete from {{t}} where id in ({where})",
            lambda rows: [rows.pop(number, None) for number in gone],
        )

    def _keep(self) -> int:
        version = self.version
        self.versions[version] = dict(self.rows)
        return version

    @property
    def version(self) -> int:
        return log.version(self.spark, self.name)

    @property
    def folder(self) -> Path:
        place = log.qualified(log.delta_log(self.spark, self.name))
        return Path(place.removeprefix("file:"))


def append(folder: Path, rows: Rows, commit: CommitProperties | None = None) -> None:
    """Add rows, none of them deleted, in a file and a commit of their own."""
    columns = pa.schema(DeltaTable(folder).schema())
    made = [{"id": number, "name": name, "_deleted": False} for number, name in rows.items()]
    table = pa.Table.from_pylist(made, columns)
    write_deltalake(folder, table, mode="append", commit_properties=commit)


def rows_of(spark: SparkSession, relation: str) -> Rows:
    """Of a table, with every column read, so that every file of it is opened; by delta-rs."""
    found = _RELATION.fullmatch(relation)
    assert found is not None, relation
    place = found["path"]
    if place is None:
        warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
        place = folder_of(warehouse.parent, found["schema"], found["name"])
    version = None if found["version"] is None else int(found["version"])
    rows = by_query(DeltaTable(place, version=version), "select id, name from t")
    return dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def rows_by_spark(spark: SparkSession, relation: str) -> Rows:
    """The same as Spark reads it, once more where files and vectors are named in our own commit."""
    rows = {row.id: row.name for row in spark.sql(f"select id, name from {relation}").collect()}
    assert rows == rows_of(spark, relation)
    return rows
