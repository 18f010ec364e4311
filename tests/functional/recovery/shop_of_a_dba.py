"""A merged table, and a published one, a clone, a branch's table and a tag that show its files.

They are made once, and put back for each trial: their folders come back as they were, or older.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from deltalake import DeltaTable
from functional.delta_rs import by_query
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import needed_files
from alluvium.merge import execute
from alluvium.publish.publish import publish
from alluvium.recovery.fsck import Fsck, Report
from alluvium.recovery.tables import Table
from alluvium.versions import branches, refs
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point

OF, MODEL = "dba", "model.shop.items"
KINDS = ("merged", "published", "clone", "branch", "tag")
Rows = dict[int, str | None]
# Of one item a new name, a new item, and one that goes.
BATCH: dict[int, str | None] = {8: "next", 200: "new", 9: None}
_TIMES = re.compile(r'("(?:timestamp|deletionTimestamp|modificationTime)":)(\d{13})')


class Shop:
    """The tables, and what readers see of each.

    Attributes:
        tables: by kind, the name that SQL has.
        folders: by kind.
        rows: by kind, what each shows in the state that comes back.
        earlier: by kind, a version before the newest.
    """

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self._kept = spark, root / "kept"
        items, shown, branch = f"{OF}.items", f"{OF}.shown", Branch("fix", OF)
        spark.sql(f"create schema if not exists {OF}")
        spark.sql(
            f"create table {items} (id bigint, name string, _deleted boolean) using delta"
            " tblproperties ('delta.enableDeletionVectors' = 'true')"
        )
        self._merge(items, 0, dict.fromkeys(range(20), "a"))
        self._merge(items, 1, dict.fromkeys(range(15, 30), "b"))
        publish(spark, items, shown, None, {}, {})
        point = Point(items, log.version(spark, items))
        refs.tag(spark, point, "old").apply()
        refs.clone(spark, point, "copy", schema=OF).apply()
        spark.sql(f"delete from {OF}.copy where id = 1")
        branches.make_schema(spark, branch, branch.schema)
        branches.make_table(spark, branch, point, (branch.schema, "items")).apply()
        self._merge(f"{branch.schema}.items", 2, {2: "branch"})
        self._merge(items, 2, {3: None, 4: "c"})
        spark.sql(f"optimize {items}").collect()
        self._merge(items, 3, {5: None, 6: "d"})
        publish(spark, items, shown, None, {}, {})
        self.tables = {
            "merged": items,
            "published": shown,
            "clone": f"{OF}.copy",
            "branch": f"{branch.schema}.items",
        }
        self.earlier = {"merged": point.version, "published": 1, "clone": 0, "branch": 0, "tag": 0}
        self.folders = {kind: self._folder(name) for kind, name in self.tables.items()}
        self.folders["tag"] = self.folders["merged"] / "_alluvium/tags/old"
        self.tables["tag"] = f"delta.`{self.folders['tag']}`"
        for kind, folder in self._roots().items():
            shutil.copytree(folder, self._kept / kind)
        self.rows = self.seen()

    def _folder(self, table: str) -> Path:
        return Path(urlparse(log.qualified(log.delta_log(self.spark, table))).path)

    def _roots(self) -> dict[str, Path]:
        """Without the tag, which lies in the merged table's folder."""
        return {kind: folder for kind, folder in self.folders.items() if kind != "tag"}

    def put_back(self, days: int) -> None:
        """The tables as they were made, as if that were so many days ago."""
        for kind, folder in self._roots().items():
            name = self.tables[kind]
            if not self.spark.catalog.tableExists(name):
                was = f"{name.partition('.')[0]}.{kind}_was"
                self.spark.sql(f"alter table {was} rename to {name}")
            shutil.rmtree(folder)
            shutil.copytree(self._kept / kind, folder)
            _age(folder, days)
        self.forget()

    def forget(self) -> None:
        """What this JVM remembers of logs that were changed under it."""
        for folder in self.folders.values():
            needed_files.forget(self.spark, str(folder))

    def files(self) -> dict[Path, tuple[int, int]]:
        """What would tell of any change."""
        there = (path for one in self._roots().values() for path in one.rglob("*"))
        return {
            path: (path.stat().st_size, path.stat().st_mtime_ns)
            for path in there
            if path.is_file() and not path.name.endswith(".crc")
        }

    def build(self, batch: Mapping[int, str | None]) -> None:
        """What builds do: a batch is merged into the table and its branch, and published."""
        for kind, number in (("merged", 4), ("branch", 3)):
            self._merge(self.tables[kind], number, batch)
        publish(self.spark, self.tables["merged"], self.tables["published"], None, {}, {})

    def _merge(self, table: str, number: int, rows: Mapping[int, str | None]) -> None:
        """A batch of events; None marks a row as deleted."""
        values = ", ".join(
            f"({key}, {'null' if name is None else repr(name)}, {name is None})"
            for key, name in rows.items()
        )
        plan = execute.Statement(
            f"merge into {table} t using (select * from values {values} as s(id, name, _deleted)) s"
            " on t.id = s.id when matched then update set name = s.name, _deleted = s._deleted"
            " when not matched then insert (id, name, _deleted) values (s.id, s.name, s._deleted)",
            {},
            number,
            after=number - 1,
        )
        execute.run(execute.DeltaTable(self.spark, table, MODEL), lambda: plan)

    def seen(self) -> dict[str, Rows | str]:
        """By kind the rows that are not marked, by delta-rs; or its error."""
        return {kind: read(folder) for kind, folder in self.folders.items()}

    def by_spark(self, kind: str) -> Rows:
        return live(row.asDict() for row in self.spark.sql(f"table {self.tables[kind]}").collect())

    def columns(self, kind: str) -> list[str]:
        return [one.name for one in DeltaTable(self.folders[kind]).schema().fields]

    def fsck(self) -> Report:
        shows = {"published": "merged"}
        tables = [
            Table(kind, self.tables[kind], str(folder), MODEL, True, shows=shows.get(kind))
            for kind, folder in self._roots().items()
        ]
        home = str(self.folders["merged"].parents[1])
        return Fsck(self.spark, tables, [home], full=True).run()


def _age(folder: Path, days: int) -> None:
    """Let a table be so much older: what its log says, and the times of its files."""

    def earlier(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) - days * 86_400_000}"

    for path in list(folder.rglob("*")):
        if path.name.startswith(".") and path.name.endswith(".crc"):
            path.unlink()  # of Hadoop's local file system, which would tell of the change
        elif path.is_file():
            then = path.stat().st_mtime - days * 86_400
            if path.parent.name == "_delta_log" and path.suffix in (".json", ".crc"):
                path.write_text(_TIMES.sub(earlier, path.read_text()))
            os.utime(path, (then, then))


def read(folder: Path, version: int | None = None) -> Rows | str:
    """The rows of a table that are not marked; or the error of delta-rs."""
    try:
        return live(by_query(DeltaTable(folder, version=version)).to_pylist())
    except Exception as error:
        return str(error)


def live(rows: Iterable[dict[str, Any]]) -> Rows:
    return {row["id"]: row.get("name") for row in rows if not row.get("_deleted")}
