"""A table, and the rows that Python keeps of each of its versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from functional.delta_rs import by_query, folder_in, newest
from pyspark.sql import SparkSession

Rows = dict[int, str]
# As `from` has a table: by its path or by its name, at a version or the newest.
_RELATION = re.compile(
    r"(?:delta\.`(?:file:)?(?P<path>[^`]+)`|(?P<name>`?\w+`?\.`?\w+`?))"
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

    def update(self, name: str, *ids: int) -> int:
        """By delta-rs: it writes whole files, and none of a table whose files lie elsewhere."""
        where = f"id in ({', '.join(map(str, ids))})"
        DeltaTable(self.folder).update({"name": f"'{name}'"}, predicate=where)
        self.rows.update(dict.fromkeys(ids, name))
        return self._keep()

    def delete(self, *ids: int) -> int:
        """By Spark: vectors of files that stay."""
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
        return newest(self.folder)

    @property
    def folder(self) -> Path:
        return folder_in(self.spark, self.name)


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
    place = found["path"] or folder_in(spark, found["name"])
    version = None if found["version"] is None else int(found["version"])
    rows = by_query(DeltaTable(place, version=version), "select id, name from t")
    return dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist(), strict=True))


def rows_by_spark(spark: SparkSession, relation: str) -> Rows:
    """The same as Spark reads it, once more where files and vectors are named in our own commit."""
    rows = {row.id: row.name for row in spark.sql(f"select id, name from {relation}").collect()}
    assert rows == rows_of(spark, relation)
    return rows


@contextmanager
def before(where: Any, name: str, theirs: Callable[[], object]) -> Iterator[None]:
    """What somebody else does before the next call of a function, once."""
    real = getattr(where, name)
    with pytest.MonkeyPatch.context() as patch:

        def late(*args: Any, **how: Any) -> Any:
            patch.undo()
            theirs()
            return real(*args, **how)

        patch.setattr(where, name, late)
        yield
        assert getattr(where, name) is real, "nobody called it"
