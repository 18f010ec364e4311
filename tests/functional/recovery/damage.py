"""A small table whose rows Python keeps, copies of its folder, and ways to break them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from deltalake import DeltaTable
from functional.delta_rs import by_query, newest
from pyspark.sql import SparkSession

from alluvium.recovery.fsck import Fsck, Report
from alluvium.recovery.recover import Recovery
from alluvium.recovery.tables import Table

Rows = dict[int, str]


def commit(version: int) -> str:
    return f"{version:020}.json"


def checkpoint(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


class Kept:
    """A table, and its rows at each version.

    Its checkpoint is that of version 4. Its newest version, 6, has four files, each with
    a deletion vector.

    properties: of the table beside its own, each after a comma.
    """

    name = "kept"

    def __init__(self, spark: SparkSession, root: Path, properties: str = "") -> None:
        self.spark, self.place = spark, root / self.name
        self.rows: list[Rows] = []
        self.do(
            f"create table {self.sql} (id bigint, name string, at timestamp, x double,"
            " s struct<a: int>, part string)"
            " using delta partitioned by (part) tblproperties ('delta.checkpointInterval' = '4',"
            " 'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
            f"{properties})",
            {},
        )
        for turn in range(1, 5):
            new = {100 * turn + place: f"n{turn}" for place in range(12)}
            values = ", ".join(
                f"({number}, '{name}', timestamp'2024-01-01 00:00:00.123456', double('NaN'),"
                f" named_struct('a', {number}), 'a b+{number % 4}')"
                for number, name in new.items()
            )
            self.do(f"insert into {self.sql} values {values}", self.rows[-1] | new)
        self.do(f"optimize {self.sql}", self.rows[-1])
        left = {number: name for number, name in self.rows[-1].items() if number >= 104}
        self.do(f"delete from {self.sql} where id < 104", left)

    @property
    def sql(self) -> str:
        return f"delta.`{self.place}`"

    def do(self, statement: str, rows: Rows) -> None:
        self.spark.sql(statement)
        self.rows.append(rows)
        assert newest(self.place) == len(self.rows) - 1


class Copy:
    """A copy of a table's folder, to be broken."""

    def __init__(self, spark: SparkSession, place: Path, root: Path) -> None:
        self.spark, self.place = spark, root / place.name
        shutil.copytree(place, self.place)
        # The sums of Hadoop's local file system would tell of some damages, not of a disk's.
        for sums in self.place.rglob(".*.crc"):
            sums.unlink()
        self.log = self.place / "_delta_log"

    @property
    def table(self) -> Table:
        name = self.place.name
        return Table(name, f"delta.`{self.place}`", str(self.place), f"model.shop.{name}", True)

    def files(self, pattern: str = "part-*.parquet") -> list[Path]:
        return sorted(self.place.rglob(pattern))

    def live(self) -> list[Path]:
        """The data files of the newest version, as delta-rs tells them."""
        return sorted(Path(unquote(path)) for path in DeltaTable(self.place).file_uris())

    def seen(self) -> Rows:
        """What readers see, by Spark and by delta-rs, which must agree."""
        found = self.spark.read.format("delta").load(str(self.place)).select("id", "name")
        rows = {row.id: row.name for row in found.collect()}
        other = by_query(DeltaTable(self.place), "select id, name from t")
        assert dict(zip(*(other[name].to_pylist() for name in ("id", "name")), strict=True)) == rows
        return rows

    def fsck(self, *, full: bool = False) -> Report:
        return Fsck(self.spark, [self.table], [str(self.place.parent)], full=full).run()

    def content(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.place.rglob("*") if path.is_file()}

    def recover(self, *, dry_run: bool) -> list[str]:
        home = [str(self.place.parent)]
        return Recovery(self.spark, [self.table], home, dry_run=dry_run).run()


def edit(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))


def cut(path: Path, bytes_left: int = 300) -> None:
    path.write_bytes(path.read_bytes()[:bytes_left])


def narrow(text: str) -> str:
    """A commit whose statistics say that the largest id is smaller than it is."""
    lines = []
    for line in text.splitlines():
        action = json.loads(line)
        if "stats" in action.get("add", {}):
            stats = action["add"]["stats"]
            action["add"]["stats"] = re.sub(
                r'("maxValues":\{"[^"]*":)\d+', r"\g<1>1", stats, count=1
            )
        lines.append(json.dumps(action))
    return "\n".join(lines)
