"""Snapshots, segments and blocks of tables between dbt and the library, in views of a session."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta.commit_files import TableLog
from alluvium.names import quoted
from alluvium.report import actions
from alluvium.report.log_lines import log_lines, names, parsed_moment, version_lines
from dbt.adapters.alluvium.handle import mistakes

_VIEW = "__alluvium_actions"


def unseen(session: SparkSession, tables: Sequence[Mapping[str, Any]], kept: str | None) -> str:
    """Leave what `kept` does not keep of the tables in a temporary view; its name.

    What `kept` has of tables that are gone, or were made again, is deleted.

    Args:
        tables: of each `model`, its name, and `table`, as SQL writes it.
        kept: the table of the model `alluvium_actions`; None where it is built new.

    Raises:
        DbtRuntimeError: a commit is not in its log.
    """
    wanted = [actions.Table(one["model"], one["table"]) for one in tables]
    with mistakes("alluvium_actions"):
        found = actions.unseen(session, wanted, kept)
    actions.make_way(session, kept, found)
    view = quoted(_VIEW)
    session.createDataFrame(found.rows).createOrReplaceTempView(view)
    return view


def of_table(
    session: SparkSession, table: str, model: str, kept: str | None, version: Any, who: str
) -> str:
    """Leave what the commits of one table did in a temporary view; its name.

    Args:
        kept: the table of the model `alluvium_actions`, if there is one.
        version: one that the log tells; None for the newest.
        who: for the message of an error.

    Raises:
        DbtRuntimeError: the table is none of Delta's, or has no such version.
    """
    with mistakes(who):
        rows = actions.of_table(session, actions.Table(model, table), kept)
        if version is not None:
            actions.check_version(rows, table, version)
    view = quoted(f"{_VIEW}_{hashlib.sha256(table.encode()).hexdigest()[:16]}")
    rows.createOrReplaceTempView(view)
    return view


def lines(
    session: SparkSession,
    table: str,
    model: str,
    limit: int | None,
    since: str | None,
    show: int | None,
    published: Mapping[str, str],
) -> list[str]:
    """The history of a table in lines: `log_lines`; or one version of it: `version_lines`.

    Args:
        since: a date, or a date and time, in UTC.
        show: the version.
        published: by the name of its model, published tables that may show this one.

    Raises:
        DbtRuntimeError: the table is none of Delta's, or its log does not tell the version.
    """
    with mistakes("alluvium.log"):
        table_log = TableLog(session, table)
        pointers = names(session, table_log, published)
        if show is not None:
            return list(version_lines(table_log, model, show, pointers))
        begins = None if since is None else parsed_moment(since)
        return list(log_lines(table_log, model, limit, begins, pointers))
