"""A version of a table as one look saw it."""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from alluvium.delta.log import log
from alluvium.delta.log.states import metadata_action


class TableSnapshot:
    """A version of a table; what is asked of it is read when it is asked first.

    Args:
        table: its name, as SQL writes it.
        version: None for the newest.

    Attributes:
        delta: Delta's own snapshot.
        version: the number.
    """

    def __init__(self, session: SparkSession, table: str, version: int | None = None) -> None:
        self._session = session
        self.delta = log.snapshot_of(session, table, version)
        self.version = int(self.delta.version())

    @cached_property
    def table_id(self) -> str:
        """See `log.table_id`."""
        return str(self.delta.metadata().id())

    @cached_property
    def numbers(self) -> tuple[str, dict[str, int]]:
        """See `log.numbers`."""
        return log.numbers(self.delta)

    @cached_property
    def schema(self) -> StructType:
        """The columns."""
        return log.schema_of(self.delta)

    @property
    def properties(self) -> dict[str, str]:
        """What is set on it, Delta's own settings and constraints among them."""
        found: dict[str, str] = metadata_action(self.delta)["configuration"]
        return found

    @property
    def folder(self) -> str:
        """The table's, with its file system."""
        return log.qualified(self.delta.deltaLog())

    def commit_id(self, version: int) -> str | None:
        """The id of a commit of the table; None where its log has the commit no more."""
        return log.commit_of(self._session, self.delta.deltaLog(), version).id

    @property
    def files(self) -> int:
        """Number of its data files."""
        return int(self.delta.numOfFiles())
