"""Who keeps a table compact while files arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession
from support.settings import settings

from alluvium.compact import run
from alluvium.plan.layout.settings import Layout

DAY = 86400.0
_DELTA = "spark.databricks.delta."
# Delta's own, over the size of a full file: 100 and 150 GB of files of 1 GB.
_CUBE, _CUBE_TARGET = 100, 150


class Contender(Protocol):
    """Keeps a table compact.

    Attributes:
        options: of the table, behind `using delta`.
        in_commit: whether it is the commit of new files that compacts.
    """

    name: str
    options: str
    in_commit: bool

    def after_batch(self, session: SparkSession, table: str, now: float) -> None:
        """What is done after each commit of new files."""

    def at_last(self, session: SparkSession, table: str, now: float) -> None:
        """What is done when no more files come."""


@dataclass(frozen=True)
class Delta:
    """What Delta has itself.

    sql, last: what is done after each commit, and at the end.
    """

    name: str
    sql: str = ""
    options: str = ""
    last: str = ""
    in_commit: bool = False

    def after_batch(self, session: SparkSession, table: str, now: float) -> None:
        if self.sql:
            session.sql(self.sql.format(table=table))

    def at_last(self, session: SparkSession, table: str, now: float) -> None:
        if self.last:
            session.sql(self.last.format(table=table))


@dataclass(frozen=True)
class Alluvium:
    """The post-hook of this package, by the clock of the events."""

    name: str
    layout: Layout
    options: str = ""
    in_commit: bool = False

    def after_batch(self, session: SparkSession, table: str, now: float) -> None:
        run.compact(session, table, self.layout, self.name, clock=lambda: now)

    def at_last(self, session: SparkSession, table: str, now: float) -> None:
        self.after_batch(session, table, now + DAY)


def size_tiers(layout: Layout) -> Alluvium:
    """No order beyond that of each fragment: no level is ever full, and no bucket quiet."""
    return Alluvium("size tiers alone", replace(layout, level_rows=2**50, quiet_after=None))


def contenders(layout: Layout) -> list[Contender]:
    columns = ", ".join(layout.sort_by)
    return [
        Alluvium("alluvium", layout),
        size_tiers(layout),
        Delta("OPTIMIZE", "optimize {table}"),
        Delta("OPTIMIZE ZORDER", f"optimize {{table}} zorder by ({columns})"),
        Delta("ZORDER at last", last=f"optimize {{table}} zorder by ({columns})"),
        Delta(
            "auto compaction",
            options="tblproperties ('delta.autoOptimize.autoCompact'='true')",
            in_commit=True,
        ),
        Delta(
            "liquid clustering",
            "optimize {table}",
            f"cluster by ({columns})",
            "optimize {table} full",
        ),
    ]


@contextmanager
def sized(session: SparkSession, full_bytes: int) -> Iterator[None]:
    """Delta's sizes in the relations that they have by default, around this one of a full file."""
    sizes: Mapping[str, int] = {
        "optimize.maxFileSize": full_bytes,
        "optimize.minFileSize": full_bytes,
        "autoCompact.maxFileSize": full_bytes,
        "autoCompact.minFileSize": full_bytes // 2,
        "optimize.clustering.mergeStrategy.minCubeSize.threshold": _CUBE * full_bytes,
        "optimize.clustering.mergeStrategy.minCubeSize.targetCubeSize": _CUBE_TARGET * full_bytes,
    }
    with settings(session, {_DELTA + key: str(size) for key, size in sizes.items()}):
        yield
