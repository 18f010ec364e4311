"""The tables that a project keeps in files: where they lie, and what the project says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta.log.log_folder import LogFolder
from alluvium.delta.refs import unregistered
from alluvium.engine import metastore
from alluvium.engine.files import Files
from alluvium.names import in_catalog, quoted
from alluvium.paths import Place
from alluvium.plan import published_models
from alluvium.plan.graph import is_in_files, keeps_tombstones, streams_above
from alluvium.recovery.tables import Table
from dbt.adapters.alluvium import streams


def tables(
    session: SparkSession,
    home: Path,
    nodes: Mapping[str, Any],
    name_of: Callable[[Any], str],
) -> Iterator[Table]:
    """The Delta tables of a project's nodes, built or not; candidates before what shows them.

    name_of: the name of a node's table, as SQL writes it.
    """
    shown = {one.unique_id: candidate for one, candidate in published_models.candidates(nodes)}
    ours = [node for node in nodes.values() if is_in_files(node)]
    for node in sorted(ours, key=lambda one: one.unique_id in shown):
        root = node.config.get("location_root")
        place, known = _place(session, str(node.schema), str(node.alias), root)
        checkpoint = None
        if node.config.materialized == "streaming_table":
            checkpoint = streams.checkpoint_of(session, home, node.schema, node.alias, root)
        candidate = shown.get(node.unique_id)
        is_merged = "alluvium_merge" in (node.config.meta or {})
        above = streams_above(node, nodes.get) if is_merged else []
        yield Table(
            _name(node, ours),
            name_of(node),
            place,
            node.unique_id,
            known is not None,
            is_managed=root is None,
            is_half=known is not None and root is None and _is_half(session, node, known),
            shows=None if candidate is None else _name(candidate, ours),
            hides=candidate is not None and keeps_tombstones(candidate),
            checkpoint=checkpoint,
            events=tuple(_name(one, ours) for one in above),
        )
        if is_merged:
            # The macro `keep_rejected` makes it, where there are any.
            alias = f"{node.alias}__rejected"
            place, known = _place(session, str(node.schema), alias, None)
            is_known = known is not None
            if is_known or LogFolder(session, place).exists():
                whole = f"{quoted(str(node.schema))}.{quoted(alias)}"
                yield Table(
                    f"{_name(node, ours)}__rejected", whole, place, node.unique_id, is_known
                )


def others(session: SparkSession, known: Iterable[Table]) -> Iterator[Table]:
    """The Delta tables in the warehouse's folders that neither the project nor the metastore has.

    They are branches, and what hooks or other projects made.
    """
    files = Files(session)
    warehouse = str(session.conf.get("spark.sql.warehouse.dir")).rstrip("/")
    taken = {Place.of(one.place) for one in known}
    for folder in sorted(files.names(warehouse)):
        schema = folder.removesuffix(".db")
        if schema == folder:
            continue
        for name in sorted(files.names(f"{warehouse}/{folder}")):
            place, found = _place(session, schema, name, None)
            is_new = found is None and Place.of(place) not in taken
            if is_new and LogFolder(session, place).exists():
                whole = f"{quoted(schema)}.{quoted(name)}"
                yield Table(f"{schema}.{name}", whole, place, "", False)


def missing_views(session: SparkSession, nodes: Mapping[str, Any]) -> list[str]:
    """The names of the project's views that the metastore does not know."""
    return [
        str(node.name)
        for node in nodes.values()
        if node.resource_type == "model"
        and node.config.materialized == "view"
        and metastore.table(session, str(node.schema), str(node.alias)) is None
    ]


def homes(session: SparkSession, home: Path, nodes: Mapping[str, Any]) -> list[str]:
    """The folders that the tables of a project lie in."""
    roots = {node.config.get("location_root") for node in nodes.values() if is_in_files(node)}
    warehouse = str(session.conf.get("spark.sql.warehouse.dir"))
    return [str(home), warehouse, *map(Files(session).qualified, roots - {None})]


def _name(node: Any, nodes: list[Any]) -> str:
    """The node's name; with its package where another one has it too."""
    is_alone = sum(one.name == node.name for one in nodes) == 1
    return str(node.name) if is_alone else str(node.unique_id)


def _is_half(session: SparkSession, node: Any, known: metastore.Registered) -> bool:
    """Whether a table lies where it is made, and the metastore would leave its files there."""
    if known.is_managed:
        return False
    place = unregistered.default_folder(session, str(node.schema), str(node.alias))
    return Place.of(str(known.location)) == Place.of(place)


def _place(
    session: SparkSession, schema: str, name: str, root: str | None
) -> tuple[str, metastore.Registered | None]:
    """Where a table lies or is going to be, and what the metastore has of it; None for nothing."""
    known = metastore.table(session, schema, name)
    if known is not None and known.location is not None:
        return known.location, known
    if root is not None or session.catalog.databaseExists(quoted(schema)):
        return unregistered.default_folder(session, schema, name, root), None
    warehouse = str(session.conf.get("spark.sql.warehouse.dir")).rstrip("/")
    return f"{warehouse}/{in_catalog(schema)}.db/{in_catalog(name)}", None
