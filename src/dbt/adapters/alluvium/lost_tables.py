"""Tables of the project that the metastore does not know, though their folders are there.

A lost metastore takes no data along. What the project can prove to be its own is registered again;
what it cannot prove is not written over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.delta.log import log
from alluvium.delta.refs import unregistered
from alluvium.delta.refs.unregistered import Unregistered
from alluvium.engine import metastore
from alluvium.engine.causes import MENDS, explain
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.merge import progress
from alluvium.names import in_catalog, literal, quoted
from alluvium.plan import published_models
from dbt.adapters.alluvium import streams
from dbt.adapters.alluvium.relation import AlluviumRelation

# Materializations that go on with the rows of before, or with what readers saw; the others make
# them all again.
_KEEP_ROWS = ("incremental", "published", "snapshot", "streaming_table")

# What a log that is broken raises: a commit may be no JSON.
_UNREADABLE = (PySparkException, Py4JError, ValueError)


def keeps_rows(node: Any) -> bool:
    """Whether what a node has built cannot be had again by building it."""
    return node.config.materialized in _KEEP_ROWS


def missing(schema: str, known: set[str], nodes: Iterable[Any]) -> list[Any]:
    """The nodes of a schema that keep rows in a table which the metastore does not know.

    known: names of the tables of the schema, as the catalog has them.
    """
    return [
        node
        for node in nodes
        if keeps_rows(node)
        and in_catalog(node.schema) == in_catalog(schema)
        and in_catalog(node.alias) not in known
    ]


def register_own(
    session: SparkSession, home: Path, known: set[str], nodes: Iterable[Any]
) -> Iterator[str]:
    """Register again those of missing tables that are provably what their nodes wrote.

    A merged table's log names the model and the table's id; a streaming table's checkpoint does.
    Nothing but a publish notes in a log which version is shown.

    Yields a sentence for each.
    """
    for node in nodes:
        try:
            found = there(session, node)
        except DbtRuntimeError as error:  # the others are not to fail for it
            yield str(error.msg)
            continue
        if found is None or not _is_own(session, home, node, found):
            continue
        lost: dict[str, tuple[Unregistered | None, bool]]
        lost = {node.alias: (found, node.config.get("location_root") is None)}
        name = f"{node.alias}__rejected"  # the macro `keep_rejected` made it, where there are any
        if node.config.materialized == "incremental" and in_catalog(name) not in known:
            place = unregistered.default_location(session, str(node.schema), name)
            with suppress(*_UNREADABLE):  # a merge that rejects events tells of it
                lost[name] = (unregistered.look(session, place), True)
        for name, (table, managed) in lost.items():
            if table is not None:
                whole = f"{quoted(node.schema)}.{quoted(name)}"
                unregistered.register(session, whole, table.location, managed=managed)
                yield f"{node.schema}.{name} was lost to the metastore, and is back: {table}"


def there(session: SparkSession, node: Any) -> Unregistered | None:
    """The Delta table that lies where a node's table is going to be; None for none.

    Raises:
        DbtRuntimeError: its log cannot be read; with what mends it.
    """
    root = node.config.get("location_root")
    place = unregistered.default_location(session, str(node.schema), str(node.alias), root)
    try:
        return unregistered.look(session, place)
    except _UNREADABLE as error:
        why = explain(error).text.removesuffix(f". {MENDS}")
        raise DbtRuntimeError(
            f"{node.name}: the metastore knows no table {node.schema}.{node.alias}, and the log of"
            f" the one in {place} cannot be read: {why}. Nothing was changed. {MENDS}, and"
            " registers the table again"
        ) from error


def check_replaced(node: Any, found: Unregistered, *, full_refresh: bool) -> None:
    """Raise unless a node that begins from nothing may take the place of what is there.

    Raises:
        DbtRuntimeError: with what is there and what to do. Nothing was changed.
    """
    # A statement replaces what is there, in a commit that can be undone. A stream appends.
    appends = node.config.materialized == "streaming_table"
    if full_refresh and not appends:
        return
    name = f"{quoted(node.schema)}.{quoted(node.alias)}"
    raise DbtRuntimeError(
        f"{node.name}: the metastore knows no table {node.schema}.{node.alias}, but {found}."
        f" Nothing was changed. Accepted: `dbt run-operation alluvium.recover`, or `create table"
        f" {name} using delta location {literal(found.location)}` (say in `on-run-start`), which"
        " makes it the table again; or to move the folder away and begin from nothing."
    )


def renamed_to(session: SparkSession, node: Any, table_id: str, nodes: Iterable[Any]) -> str | None:
    """What the table of a node is called now, as SQL writes it, where it was renamed.

    Another model of the project that goes on with the table has adopted it, or was renamed too.
    """
    schema = in_catalog(node.schema)
    ours = {in_catalog(one.alias) for one in nodes if in_catalog(one.schema) == schema}
    for found in metastore.tables(session, schema):
        if found.provider == "delta" and in_catalog(found.name) not in ours:
            name = AlluviumRelation.create(schema=schema, identifier=found.name).render()
            with suppress(*_UNREADABLE):  # what cannot be read tells nothing
                if log.table_id(session, name) == table_id:
                    return name
    return None


def _is_own(session: SparkSession, home: Path, node: Any, found: Unregistered) -> bool:
    if node.config.materialized == "streaming_table":
        root = streams.checkpoint_of(
            session, home, str(node.schema), str(node.alias), node.config.get("location_root")
        )
        place = checkpoints.load(Files(session), root)
        return place is not None and place.table_id == found.table_id
    if published_models.is_published(node):
        return any(app.startswith(marks.PUBLISHED) for app in found.transactions)
    return progress.app_id(node.unique_id, found.table_id) in found.transactions
