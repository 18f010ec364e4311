"""One Spark session per dbt node, over one context."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from dbt.adapters.contracts.connection import (
    AdapterRequiredConfig,
    AdapterResponse,
    Connection,
    ConnectionState,
)
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt.cli.exceptions import ExceptionExit
from dbt.events.types import MainEncounteredError
from dbt.flags import get_flags
from dbt_common.clients.agate_helper import empty_table
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from alluvium.engine import EngineError, pools, rounds
from alluvium.engine import session as engine
from alluvium.engine.properties import as_text
from dbt.adapters.alluvium import clock, streams, told
from dbt.adapters.alluvium.handle import SessionHandle

logger = AdapterLogger("Alluvium")

# dbt's commands (`flags.WHICH`) that are going to need Spark: at once, or in a thread of dbt's.
_READS = ("test", "show", "freshness", "generate")
_WRITES = ("build", "run", "seed", "snapshot")
_LATER = ("retry", "compile", "clone")
# Seconds of a start of Spark after which it is told of.
_PATIENCE = 3.0


def _hold(settings: engine.Settings) -> None:
    """`engine.hold`, telling of a wait; dbt would show an interrupt of it with a traceback."""
    try:
        engine.hold(settings, told.say)
    except KeyboardInterrupt:
        raise EngineError("interrupted while it waited; nothing was run") from None


@contextmanager
def _told_of_start() -> Iterator[None]:
    """Say that Spark starts where that takes its time: once, whoever else waits for it."""
    timer = threading.Timer(_PATIENCE, _say_start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _say_start() -> None:
    told.say("starting Spark")


def _of_command(command: str, error: DbtDatabaseError) -> Exception:
    """What ends a command before it runs. Of `clone` alone dbt reports errors of its task only."""
    if command != "clone":
        return error
    fire_event(MainEncounteredError(exc=str(error)))
    return ExceptionExit(error)


class AlluviumConnectionManager(SparkConnectionManager):
    TYPE = "alluvium"

    def __init__(self, config: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        clock.use_utc()  # before the JVM starts, which takes it over
        # The profile does not know the project's folder; here it is known, save to `dbt debug`.
        root = Path(getattr(config, "project_root", None) or get_flags().PROJECT_DIR or Path.cwd())
        creds = config.credentials
        creds.home = str((root / creds.home).resolve())  # type: ignore
        streams.locate(root, Path(creds.home))  # type: ignore
        command = getattr(get_flags(), "WHICH", None)
        # dbt fills its cache of relations though no query may be asked.
        looks = [getattr(get_flags(), flag, True) for flag in ("INTROSPECT", "POPULATE_CACHE")]
        if command in (*_READS, *_WRITES, *_LATER) and any(looks):
            # A wait here can be interrupted, and begins before dbt reads and writes in `target`.
            try:
                _hold(self.settings(creds))
            except (EngineError, OSError) as error:
                raise _of_command(command, DbtDatabaseError(str(error))) from error
        if command in _READS or command in _WRITES:
            # dbt parses the project next, for seconds: Spark starts meanwhile.
            engine.start_in_background(self.settings(creds), told.say, writes=command in _WRITES)

    @classmethod
    def settings(cls, creds: Any) -> engine.Settings:
        return engine.Settings(
            home=Path(creds.home),
            master=creds.master,
            conf=as_text(creds.spark_conf),
            packages=tuple(creds.packages),
            single_writer=creds.single_writer,
            wait=creds.wait_seconds,
            keep_warm=0.0 if rounds.are_on() else creds.warm_seconds,
            executors_within=creds.executor_seconds,
        )

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Give this node a session of its own: its SETs and temp views end with it."""
        if connection.state == ConnectionState.OPEN:
            return connection
        clock.use_utc()
        settings = cls.settings(connection.credentials)
        try:
            _hold(settings)
            with _told_of_start():
                session = engine.new_session(settings, told.say)
            for notice in engine.notices():
                told.warn(notice)
            pools.leave(session)  # the thread's last node may have had a tier
        except Exception as error:
            connection.handle = None
            connection.state = ConnectionState.FAIL  # type: ignore[assignment]
            raise DbtDatabaseError(str(error)) from error
        connection.handle = SessionHandle(session, str(connection.name))
        connection.state = ConnectionState.OPEN  # type: ignore[assignment]
        return connection

    def cleanup_all(self) -> None:
        super().cleanup_all()
        clock.give_back()

    def _add_query_comment(self, sql: str) -> str:
        """The statement with dbt's comment, in which Spark would look for comments too."""
        if self.query_header is not None:
            given = self.query_header.comment
            given.query_comment = (given.query_comment or "").replace("/*", "/ *")
        return str(super()._add_query_comment(sql))

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, Any]:
        """As dbt does; a query runs also where its rows are not fetched, as on a server."""
        if fetch:
            return super().execute(sql, auto_begin, fetch, limit)
        _, cursor = self.add_query(self._add_query_comment(sql), auto_begin)
        cursor.compute()
        return self.get_response(cursor), empty_table()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Every error is dbt's own; the cursor has already translated Spark's."""
        try:
            yield
        except Exception as error:
            logger.debug(f"Error while running:\n{sql}")
            if isinstance(error, DbtRuntimeError):
                raise
            raise DbtDatabaseError(str(error)) from error

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        return cursor.response() if cursor is not None else AdapterResponse(_message="OK")
