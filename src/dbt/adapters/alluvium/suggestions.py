"""Suggested layouts: a project's compiled SQL and tables between dbt and the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.advise.report import suggestion_lines
from alluvium.delta.filters import Optimizer, Reading
from alluvium.delta.log import log
from alluvium.engine.causes import explain
from alluvium.engine.statements import statements
from alluvium.plan.compaction.daily import fragments_a_day
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.plan.layout.suggestion import Shape, suggest
from dbt.adapters.alluvium import streams
from dbt.adapters.alluvium.live import as_names
from dbt.adapters.alluvium.places import short


def lines(
    session: SparkSession,
    compiled: Path,
    nodes: Sequence[Mapping[str, Any]],
    tables: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """What the filters of the compiled nodes ask of each table.

    Args:
        compiled: the folder that dbt compiles into.
        nodes: of each `name`, `package`, `file` (in its package) and `language`.
        tables: of each its name, `model`, and its name in SQL, `table`; `schema`, `identifier` and
            `language`; columns of its `key`. `layout` is what `meta.alluvium_layout` says or None.
            `updates` says whether merges change rows. `hides` are columns that no reader knows of.

    Raises:
        DbtRuntimeError: nothing is compiled.
    """
    read, left_out = _read(session, compiled, nodes)
    for one in tables:
        name = (str(one["schema"]).lower(), str(one["identifier"]).lower())
        found = suggest(
            _table(session, one),
            {
                statement: reading.uses
                for statement, readings in read.items()
                for reading in readings
                if reading.table == name
            },
        )
        yield from suggestion_lines(one["model"], found)
    for statement, reason in left_out.items():
        yield f"left out: {statement}: {reason}"


def _read(
    session: SparkSession, compiled: Path, nodes: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, list[Reading]], dict[str, str]]:
    """What each node's SQL does with the tables it reads, and why some nodes are left out."""
    files = {_name(node, nodes): compiled / node["package"] / node["file"] for node in nodes}
    if not any(file.is_file() for file in files.values()):
        raise DbtRuntimeError(
            f"alluvium.suggest_layout: no compiled SQL in {compiled}; accepted: after `dbt compile`"
            " with the same target path"
        )
    texts: dict[str, str] = {}
    read: dict[str, list[Reading]] = {}
    left_out: dict[str, str] = {}
    for (name, file), node in zip(files.items(), nodes, strict=True):
        if node["language"] != "sql":
            left_out[name] = "a Python model"
        elif not file.is_file():
            left_out[name] = "not compiled"
        else:
            with _reasons(name, left_out):
                texts[name] = file.read_text()
                streams.provide(session, texts[name])
    optimizer = Optimizer(session)  # sees the views that the session has by now
    for name, text in texts.items():
        if name not in left_out:
            with _reasons(name, left_out):
                read[name] = _readings(optimizer, statements(session, text))
    return read, left_out


@contextmanager
def _reasons(name: str, left_out: dict[str, str]) -> Iterator[None]:
    """Keep the first line of what an error says, as why the node is left out."""
    try:
        yield
    except (PySparkException, Py4JJavaError, DbtRuntimeError) as error:
        left_out[name] = short(explain(error).text)


def _readings(optimizer: Optimizer, queries: list[str]) -> list[Reading]:
    """What the statements of one node do together."""
    found: dict[tuple[str, str], Reading] = {}
    for statement in filter(None, queries):
        for one in optimizer.readings(as_names(statement)):
            uses = found.setdefault(one.table, Reading(one.table, {})).uses
            for column, kinds in one.uses.items():
                uses[column] = uses.get(column, set()) | kinds
    return list(found.values())


def _name(node: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> str:
    """A node's name, with its package where another has the same."""
    alike = sum(one["name"] == node["name"] for one in nodes)
    return f"{node['package']}.{node['name']}" if alike > 1 else str(node["name"])


def _table(session: SparkSession, one: Mapping[str, Any]) -> Shape:
    fields = session.table(one["table"]).schema.fields
    hidden = [name.lower() for name in one["hides"]]
    types = {f.name: f.dataType.simpleString() for f in fields if f.name.lower() not in hidden}
    bounded = log.bounded_columns(session, one["table"])
    layout = parse_layout(one["model"], one["layout"]) if one["layout"] else Layout(())
    times = [name for name in bounded if types.get(name) in ("timestamp", "date")]
    files = log.fragments(session, one["table"], times) if times else {}
    daily = {name: fragments_a_day(found, layout) for name, found in files.items()}
    return Shape(
        types,
        bounded,
        partitions=log.metadata(session, one["table"]).partitions,
        key=one["key"],
        updates=one["updates"],
        generates=one["language"] == "sql",
        fragments_a_day={name: known for name, known in daily.items() if known is not None},
        block=one["layout"],
    )
