"""A table, and the rows that Python keeps of each of its versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from alluvium.delta import log

Rows = dict[int, str]


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
        self.versions[self.version] = dict(self.rows)
        return self.version

    def insert(self, *ids: int) -> int:
        values = ", ".join(f"({number}, 'n{number}', false)" for number in ids)
        new = {number: f"n{number}" for number in ids}
        return self.do(f"insert into {{t}} values {values}", lambda rows: rows.update(new))

    def delete(self, *ids: int) -> int:
        where = ", ".join(map(str, ids))
        gone = list(ids)
        return self.do(
            f"delete from {{t}} where id in ({where})",
            lambda rows: [rows.pop(number, None) for number in gone],
        )

    @property
    def version(self) -> int:
        return log.version(self.spark, self.name)

    @property
    def folder(self) -> Path:
        place = log.qualified(log.delta_log(self.spark, self.name))
        return Path(place.removeprefix("file:"))


def rows_of(spark: SparkSession, relation: str) -> Rows:
    """Of a table, with every column read, so that every file of it is opened."""
    return {row.id: row.name for row in spark.sql(f"select id, name from {relation}").collect()}
