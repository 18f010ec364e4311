"""What dbt needs of a database handle, on a Spark session: cursor, bindings, results."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta.log import log, own_commit
from alluvium.delta.log.log import TableVersion
from alluvium.delta.merge import batch, staged
from alluvium.engine import jvm, zone
from alluvium.engine.statements import is_query, only_reads, statements
from dbt.adapters.alluvium import heartbeat, live, streams, told
from dbt.adapters.alluvium.figures import ModelResponse, of_statement


@contextmanager
def spark_errors(sql: str = "", start: int = 0) -> Iterator[None]:
    """Let Spark's errors pass as dbt's: anything else dbt takes for a bug and shows a traceback.

    sql: the text whose statement runs.
    start: the place in it where that statement begins.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise DbtDatabaseError(told.message(error, sql, start)) from error


@contextmanager
def mistakes(who: str) -> Iterator[None]:
    """Let what cannot be done pass as dbt's error, with who says so; and Spark's errors.

    The library raises ValueError for a mistake, RuntimeError where somebody else was faster.
    """
    try:
        with spark_errors():
            yield
    except DbtRuntimeError:
        raise
    except (ValueError, RuntimeError) as error:
        raise DbtRuntimeError(f"{who}: {error}") from error


@dataclass(frozen=True)
class _KeptBatch:
    """Rows that Spark keeps.

    planned: done when Spark knows how to read them.
    put_back: gives the view that they replace its first meaning; None where they replace none.
    """

    rows: DataFrame
    planned: Future[None]
    put_back: Callable[[], None] | None


class SessionHandle:
    """The session of one dbt node."""

    _open: ClassVar[set[int]] = set()
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, session: SparkSession, name: str) -> None:
        self.session = session
        # Of tables that are read at one version, by name; and those that a statement read so. A
        # test that stores its failures reads its table in one statement and answers in another.
        self.versions: dict[str, TableVersion] = {}
        self.read: dict[str, str] = {}
        # Of the newest statement; whether one may have changed the session itself; and what asks
        # for reuse.
        self.frame: DataFrame | None = None
        self.is_touched = False
        self.asked: object = None
        self._kept: dict[str, _KeptBatch] = {}
        # Unlike that of any other process: Spark remembers groups that were cancelled.
        self._group = f"{name} {uuid.uuid4()}"
        heartbeat.begin(self._group, name, session.sparkContext)
        with self._guard:
            self._open.add(id(self))

    def cursor(self) -> Cursor:
        # Spark keeps the group per thread: set it where the statement is about to run.
        self.session.sparkContext.setJobGroup(self._group, self._group, interruptOnCancel=True)
        return Cursor(self)

    def at_versions(self, sql: str) -> tuple[str, set[str]]:
        """One statement as it is sent, and which tables it reads at their version in `versions`."""
        numbers = {name: one.version for name, one in self.versions.items()}
        return live.at_versions(live.as_names(sql, live.marks(self.session)), numbers)

    def table(self, relation: str) -> DataFrame:
        """The rows of `relation`, a rendered name or subquery: what `dbt.ref` gives a model."""
        if relation in self._kept:
            self._kept[relation].planned.result()
        return self.unread(relation)

    def unread(self, relation: str) -> DataFrame:
        """`table` for what reads no row, so that nobody waits until rows are kept."""
        streams.provide(self.session, relation)
        sql = live.as_names(f"select * from {relation}", live.marks(self.session))
        return self.session.sql(sql)

    def keep(self, relation: str, table: str) -> int | None:
        """Keep the rows of `relation` in Spark until `release`, or until the node ends.

        table: that they will be merged into; the version of it that they are computed from is
        returned, None where they are not. Spark plans how to read them beside what follows, up to
        the first call of `table` for them, where its errors show.
        """
        rows = self.session.table(relation)
        version = batch.version_read(rows, table)
        # The merge reads its own table in its transaction.
        own = None if version is None else str(log.delta_log(self.session, table).dataPath())
        put_back = staged.replace_view(rows, relation, own)
        if put_back is not None:
            rows = self.session.table(relation)
        beside = ThreadPoolExecutor(1, "alluvium-keep")
        planned = jvm.beside(beside, self.session, lambda: batch.keep(rows))
        beside.shutdown(wait=False)
        self._kept[relation] = _KeptBatch(rows, planned, put_back)
        return version

    def release(self, relation: str) -> None:
        """Let go of what `keep` kept: a table that moved on since would be another plan."""
        kept = self._kept.pop(relation, None)
        if kept is not None:
            wait([kept.planned])
            kept.rows.unpersist()
            if kept.put_back is not None:
                kept.put_back()

    def cancel(self) -> None:
        # "Future jobs" too: a cancelled model must not go on with its next statement.
        context = self.session.sparkContext._jsc.sc()
        context.cancelJobGroupAndFutureJobs(self._group)

    def close(self) -> None:
        """Let go of what nodes have cached; sessions share it, so the last to close does."""
        heartbeat.end(self._group)
        for relation in list(self._kept):  # what a failed merge left
            self.release(relation)
        with self._guard:
            self._open.discard(id(self))
            if not self._open:
                self.session.catalog.clearCache()

    def rollback(self) -> None:
        """Spark has no transactions over statements."""


class Cursor:
    """Runs one statement and holds its result."""

    def __init__(self, handle: SessionHandle) -> None:
        self._handle = handle
        self._session = handle.session
        self._frame: DataFrame | None = None
        self._response = ModelResponse(_message="OK")
        self._statement = ("", 0)

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run `sql`; `bindings` fill its `?` markers as typed values, never as text.

        Statements before the last one (a model's `sql_header`) run first, in the same session.
        """
        started = time.perf_counter()
        handle = self._handle
        with spark_errors():
            streams.provide(self._session, sql)
            parts = statements(self._session, sql)
        start = 0
        for part in parts:
            start = sql.index(part, start)
            self._statement = (sql, start)
            with spark_errors(*self._statement):
                writes = not only_reads(part)
                handle.is_touched |= writes
                one, read = handle.at_versions(part)
                handle.read |= {name: str(handle.versions[name]) for name in read}
                begun = own_commit.begin(self._session)
                if bindings and part is parts[-1]:
                    frame = self._session.sql(one, args=list(bindings))
                else:
                    frame = self._session.sql(one)
            if part is not parts[-1]:
                self._compute(part, frame)
            start += len(part)
            if writes:
                zone.settle(self._session)
        self._frame = handle.frame = frame
        with spark_errors(*self._statement):
            seconds = time.perf_counter() - started
            self._response = of_statement(self._session, one, frame, seconds, begun)

    def compute(self) -> None:
        """Compute a query of whose rows nobody asks: a hook may hold an `assert_true`."""
        self._compute(self._statement[0][self._statement[1] :], self._frame)

    def _compute(self, sql: str, frame: DataFrame | None) -> None:
        if frame is not None and is_query(sql) and not frame.isStreaming:
            with spark_errors(*self._statement):
                frame.write.format("noop").mode("overwrite").save()

    def response(self) -> ModelResponse:
        return replace(self._response, versions=dict(self._handle.read) or None)

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]]:
        if self._frame is None:
            return []
        return [
            (column.name, column.dataType.simpleString(), None, None, None, None, column.nullable)
            for column in self._frame.schema.fields
        ]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._fetch(None)

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        return self._fetch(size)

    def _fetch(self, limit: int | None) -> list[tuple[Any, ...]]:
        if self._frame is None:
            return []
        # A select is lazy: what it cannot do shows here.
        with spark_errors(*self._statement):
            rows = self._frame.collect() if limit is None else self._frame.take(limit)
        return [tuple(row) for row in rows]

    def close(self) -> None:
        self._frame = None
