"""A version of a table as one look saw it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from alluvium.delta.handles import DeltaSnapshot
from alluvium.delta.log import log
from alluvium.delta.log.log import Metadata, TableVersion
from alluvium.plan.versions import heads
from alluvium.plan.versions.commit import Commit


@dataclass(frozen=True)
class TableSnapshot:
    """A version of a table; what is asked of it is read when it is asked first.

    Attributes:
        delta: Delta's own snapshot.
    """

    session: SparkSession
    delta: DeltaSnapshot

    @classmethod
    def of(cls, session: SparkSession, table: str, version: int | None = None) -> Self:
        """Of a table by its name, as SQL writes it; version: None for the newest."""
        return cls(session, log.snapshot_of(session, table, version))

    def at(self, version: int) -> Self:
        """Another version of the same log."""
        if version == self.version:
            return self
        found = log.snapshot_at(self.session, self.delta.deltaLog(), version)
        return replace(self, delta=found)

    def has(self, one: TableVersion) -> bool:
        """Whether its log has a version: a table may have another id since it was replaced."""
        if one.table_id == self.table_id:
            return True
        try:
            return self.at(one.version).table_id == one.table_id
        except (Py4JJavaError, PySparkException):  # the log has that version no more
            return False

    def newest(self) -> Self:
        """The newest version by now, which may be a later one."""
        return replace(self, delta=log.newest_of(self.session, self.delta.deltaLog()))

    @cached_property
    def version(self) -> int:
        """The number."""
        return int(self.delta.version())

    @cached_property
    def table_id(self) -> str:
        """See `log.table_id`."""
        return str(self.delta.metadata().id())

    @cached_property
    def numbers(self) -> tuple[str, dict[str, int]]:
        """See `log.numbers`."""
        return log.numbers(self.delta)

    @cached_property
    def metadata(self) -> Metadata:
        """What it says of its columns."""
        return log.metadata_of(self.delta)

    @property
    def schema(self) -> StructType:
        """The columns."""
        return self.metadata.schema

    @property
    def properties(self) -> dict[str, str]:
        """What is set on it, Delta's own settings and constraints among them."""
        found: dict[str, str] = log.metadata_action(self.delta)["configuration"]
        return found

    @property
    def folder(self) -> str:
        """The table's, with its file system."""
        return log.qualified(self.delta.deltaLog())

    @property
    def files(self) -> int:
        """Number of its data files."""
        return int(self.delta.numOfFiles())

    def commit(self, version: int) -> Commit:
        """A commit of the table."""
        return log.commit_of(self.session, self.delta.deltaLog(), version)

    def commits(self, after: int = -1, oldest_first: bool = False) -> Iterator[Commit]:
        """See `log.commits_of`."""
        return log.commits_of(self.session, self.delta, after, oldest_first)

    @cached_property
    def is_held(self) -> bool:
        """Whether a published table stays at the version that a person chose."""
        return heads.is_held(self.numbers[1])

    @cached_property
    def head(self) -> TableVersion | None:
        """What a published table shows; None before its first publish."""
        found = heads.head_of(self.numbers[1])
        return None if found is None else TableVersion(*found)

    def is_undone(self, version: int) -> bool | None:
        """`heads.is_undone` of this newest version, by the table's log.

        Of what the log has no more nobody can tell.
        """
        restores = {
            one.version: one.restored
            for one in self.commits(version)
            if one.is_gone or one.operation == "RESTORE"
        }
        return heads.is_undone(version, self.version, restores)
