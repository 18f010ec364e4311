"""Errors of Spark as dbt shows them: a line of cause, and the place in the user's file.

All else that they say, the plan and Java's stack, goes to dbt's log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.base_types import EventLevel
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.events.types import Note
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.ui import warning_tag
from pyspark.errors import AnalysisException, ParseException

from alluvium.engine.causes import Cause, explain, full_text
from alluvium.names import in_catalog, quoted
from dbt.adapters.alluvium import live
from dbt.adapters.alluvium.places import place

_log = AdapterLogger("Alluvium")

_node: ContextVar[Any] = ContextVar("alluvium_node", default=None)
_project: Any = None


def look_in(project: Any) -> None:
    """Say who knows the nodes (`node_of`) and the folders of their packages (`root_of`)."""
    global _project
    _project = project


@contextmanager
def running(node: Any) -> Iterator[None]:
    """Say which node this thread runs."""
    before = _node.set(node)
    try:
        yield
    finally:
        _node.reset(before)


def node_now() -> Any:
    """The node that this thread runs, or compiles; None for none."""
    node = _node.get()
    if node is None and _project is not None:
        node = _project.node_of(get_node_info().get("unique_id"))
    return node


@contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """Let errors of the library that are made for users pass as dbt's own."""
    try:
        yield
    except kinds as error:
        raise DbtRuntimeError(str(error)) from error


def say(line: str) -> None:
    """Tell a line of ours on the console, as macros do."""
    fire_event(Note(msg=line))


def warn(line: str) -> None:
    """Tell what is wrong though the run goes on; `--warn-error` makes no error of it."""
    fire_event(Note(msg=warning_tag(line)), level=EventLevel.WARN)


def log(error: BaseException) -> None:
    """Leave all that an exception says in dbt's log."""
    _log.debug(full_text(error))


def message(error: BaseException, sql: str = "", start: int = 0) -> str:
    """An error in a few lines; `sql` and `start` as `spark_errors` has them."""
    cause = explain(error)
    return _with_places(cause.text, error, cause, sql, start)


def placed(text: str, error: BaseException | None, sql: str) -> str:
    """What is said of an error, with the places that it names."""
    return text if error is None else _with_places(text, error, explain(error), sql, 0)


def _with_places(text: str, error: BaseException, cause: Cause, sql: str, start: int) -> str:
    log(error)
    lines = [text, *(f"at {frame}" for frame in cause.frames)]
    where = _where(cause, sql, start)
    if where:
        lines.append(where)
    more = live.advice(sql) if isinstance(error, ParseException) else _missing(error)
    return "\n".join([*lines, *([more] if more else [])])


def _missing(error: BaseException) -> str | None:
    """What makes a table of the project that the metastore does not know."""
    if not isinstance(error, AnalysisException) or _project is None:
        return None
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    name = in_catalog((error.getMessageParameters() or {}).get("relationName", ""))
    for node in _project.nodes.values():
        if in_catalog(f"{quoted(str(node.schema))}.{quoted(str(node.alias))}") == name:
            return (
                f"`dbt build -s {node.name}` makes it. If its files are there, and the metastore"
                " lost it, `dbt run-operation alluvium.recover` registers it again"
            )
    return None


def _where(cause: Cause, sql: str, start: int) -> str:
    if not sql:
        return f"in the SQL: {cause.fragment}" if cause.fragment else ""
    node = node_now()
    root = None if node is None or _project is None else _project.root_of(node.package_name)
    line = None if cause.line is None else cause.line + sql.count("\n", 0, start)
    where = place(node, sql, line, root or Path())
    return where and f"at {where}"
