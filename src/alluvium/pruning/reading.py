"""Rows of a table for which a condition holds, and which files Spark reads for them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import log
from alluvium.engine import jvm
from alluvium.names import quoted
from alluvium.wording import counted

Where: TypeAlias = str | Mapping[str, Any] | None
SETTING = "spark.alluvium.pruning.enabled"
"""The session's setting that turns pruning by automata off, where it is `false`."""
_RULE = "alluvium.PrunedReads"
_ACCEPTED = (str, bool, int, float, Decimal, dt.date, dt.datetime)


def scan(session: SparkSession, table: str, where: Where) -> DataFrame:
    """The rows of a table for which a condition is true.

    Spark skips files as for the same query in SQL: by partitions, bounds and automata.

    Args:
        table: its name, as SQL writes it.
        where: SQL, such as `"service = 'reader' and status <> 'ok'"`; or values by column, such as
            `{"service": "reader", "status": ["error", "warn"]}`, all of which must hold. A list
            accepts any of its values, None is NULL.

    Raises:
        ValueError: a column of the mapping is not in the table, or a value is of another kind.
        pyspark.errors.AnalysisException: there is no such table, or SQL that it cannot read.
    """
    frame = session.table(table)
    if where is None:
        return frame
    if isinstance(where, str):
        return frame.where(F.expr(where))
    names = {name.lower(): name for name in frame.columns}
    for name, wanted in where.items():
        if not isinstance(name, str) or name.lower() not in names:
            raise ValueError(
                f"where: {table} has no column {name!r}; accepted: {', '.join(frame.columns)}"
            )
        column = frame[quoted(names[name.lower()])]
        frame = frame.where(_any_of(column, name, wanted))
    return frame


def _any_of(column: Column, name: str, wanted: Any) -> Column:
    values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    for value in values:
        if value is not None and not isinstance(value, _ACCEPTED):
            raise ValueError(
                f"where: {name} is {value!r}; accepted: a text, number, boolean, date, timestamp,"
                " None, or a list of them"
            )
    present = [value for value in values if value is not None]
    found = column.isin(present) if present else F.lit(False)
    return found | column.isNull() if len(present) < len(values) else found


def explain_read(session: SparkSession, table: str, where: Where) -> str:
    """What Spark reads of a table for a condition, and why; reads none of its files.

    Args:
        table, where: as for `scan`.

    Returns:
        Lines: the condition as it was given, files and bytes left by time and other partitions, by
        bounds and by automata, what each part of the condition excludes, and what would help.

    Raises:
        ValueError, pyspark.errors.AnalysisException: as `scan` does.
    """
    frame = scan(session, table, where)
    plan = frame._jdf.queryExecution().optimizedPlan()
    found = _explained(session, plan)
    if not found:
        return f"{table}: {_why_all(session, table, where, found is not None)}"
    read = found[0]
    lines = [f"{table} where {_given(where)}"]
    for key, label in (
        ("total", "in the table"),
        ("partition", "left by time and partitions"),
        ("scanned", "left by bounds"),
        ("kept", "left by automata"),
    ):
        lines.append(f"  {_size(read[key])} {label}")
    if str(session.conf.get(SETTING, "true")).strip().lower() == "false":
        lines.append(f"  automata are not used: {SETTING} is false")
    # What Spark calls the table's columns.
    first = frame.columns[0]
    name = frame._jdf.queryExecution().analyzed().output().head().sql()
    qualifier = name.removesuffix(quoted(first)).removesuffix(first)
    idle = []
    for one in read["conditions"]:
        text = one["text"].replace(qualifier, "")
        if one["excluded"]:
            indexed = f"{counted(one['indexed'], 'file')} with one of the column"
            lines.append(f"  automata exclude {one['excluded']:,} by {text}, of {indexed}")
        elif not one["known"]:
            idle.append(f"{text} (not a condition that they know)")
        else:
            none = " (no file has one of the column; `index` of the layout names columns)"
            idle.append(text if one["indexed"] else f"{text}{none}")
    if idle:
        lines.append(f"  automata exclude nothing by {', '.join(idle)}")
    if read["untagged"] and any(one["known"] for one in read["conditions"]):
        lines.append(
            f"  automata are missing in {counted(read['untagged'], 'file')}: compaction gives them"
            " to what it writes, the post-hook `{{ alluvium.index(this) }}` or `dbt run-operation"
            " alluvium.index` to the others, for the columns of `index` or `sort_by`"
        )
    return "\n".join(lines)


def _given(where: Where) -> str:
    """A condition as it was given, in one line."""
    if isinstance(where, Mapping):
        return ", ".join(f"{name}: {value}" for name, value in where.items())
    return " ".join(str(where).split())


def _explained(session: SparkSession, plan: Any) -> list[dict[str, Any]] | None:
    """What the rule says of an optimized plan; None where the session was started without it."""
    if _RULE not in str(session.conf.get("spark.sql.extensions", "")):
        return None
    return list(json.loads(jvm.call_own(session, _RULE, "explain", plan)))


def _why_all(session: SparkSession, table: str, where: Where, has_rule: bool) -> str:
    if not has_rule:
        return f"this session has no rule for automata: {_RULE} is not in spark.sql.extensions"
    if where is None:
        return "all files are read: there is no condition"
    snapshot = log.snapshot_of(session, table)
    total = {"files": snapshot.numOfFiles(), "bytes": snapshot.sizeInBytes()}
    return f"no condition is left above the files ({_size(total)}): Spark has simplified it"


def _size(size: Mapping[str, int]) -> str:
    files = counted(size["files"], "file") if "files" in size else "?"
    return f"{files}, {size['bytes']:,} bytes" if "bytes" in size else files
