"""The tables that are merged into: made once, then copied by hard links for every merge."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from merging.library import log

# By row number `n`; {version} is 0 in the table and rises with every event.
COLUMNS = {
    "id": "n",
    "key": "concat(lpad(lower(hex(1500000000 + n div 20)), 8, '0'), 'a1b2c3d4e5',"
    " lpad(lower(hex(n % 16777216)), 6, '0'))",
    "created_at": "timestamp_seconds(1500000000 + n div 20)",
    "seq": "{version}L",
    "qty": "n * 7919 % 1000",
    "amount": "cast(n * 104729 % 1000003 as double) / 7",
    "status": "concat('status-', n % 7)",
    "note": "concat('note ', n % 9973, ' ', {version})",
}
# An id that says nothing of when its row was made.
RANDOM_ID = "xxhash64(n)"


def columns_of(version: int, random_id: bool = False) -> str:
    """The select list that makes a row of its number `n`."""
    columns = COLUMNS | ({"id": RANDOM_ID} if random_id else {})
    listed = [f"{sql.format(version=version)} as {name}" for name, sql in columns.items()]
    return ", ".join(listed)


@dataclass(frozen=True)
class Table:
    """A Delta table that nobody writes to: `path` with deletion vectors on, `plain` without.

    plain: for engines that refuse deletion vectors; the same data files.
    """

    path: Path
    plain: Path
    rows: int
    files: int
    bytes: int
    random_id: bool = False

    def copy(self, to: Path, plain: bool = False) -> Path:
        """A copy that shares the files until they are rewritten."""
        shutil.copytree(self.plain if plain else self.path, to, copy_function=os.link)
        return to


def make(
    session: SparkSession,
    folder: Path,
    rows: int,
    rows_per_file: int,
    *,
    random_id: bool = False,
    scattered: bool = False,
    zorder: bool = False,
) -> Table:
    """A table of `rows` rows in `rows` / `rows_per_file` files, in the order they were made.

    scattered: every twentieth row lies in any file, as updates leave it: no file can be told from
        another by what it holds.
    zorder: ordered by `created_at` with Delta's OPTIMIZE afterwards, into about as many files.
    """
    files = rows // rows_per_file
    kind = "".join(("-random" * random_id, "-scattered" * scattered, "-zorder" * zorder))
    plain = folder / f"{rows}-{files}{kind}-plain"
    path = folder / f"{rows}-{files}{kind}"
    session.range(0, rows, 1, files).createOrReplaceTempView("places")
    moved = f"if(id % 20 = 0, 20 * ((id div 20 * 7919 + 13) % {rows // 20}), id)"
    session.sql(
        f"create table delta.`{plain}` using delta as"
        f" select {columns_of(0, random_id)}, 'c' as op, cast(null as boolean) as _deleted"
        f" from (select {moved if scattered else 'id'} as n from places)"
    )
    if zorder:
        # Into new files of the same number: Delta packs them by size.
        size = log.skipping(session, f"delta.`{plain}`", None).bytes
        session.conf.set("spark.databricks.delta.optimize.maxFileSize", str(size // files))
        session.conf.set("spark.databricks.delta.optimize.minFileSize", str(size))
        session.sql(f"optimize delta.`{plain}` zorder by (created_at)")
        session.conf.unset("spark.databricks.delta.optimize.maxFileSize")
        session.conf.unset("spark.databricks.delta.optimize.minFileSize")
    shutil.copytree(plain, path, copy_function=os.link)
    session.sql(
        f"alter table delta.`{path}` set tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    kept = log.skipping(session, f"delta.`{path}`", None)
    return Table(path, plain, rows, kept.files_total, kept.bytes_total, random_id)
