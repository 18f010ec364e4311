"""What the adapter itself can say of a project before its first statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from alluvium import ingest as stream
from alluvium.ingest.landing import may_be_listed
from alluvium.ingest.local_folder import read_places
from alluvium.names import did_you_mean, in_catalog, nearest
from alluvium.paths import LOCAL, Place
from alluvium.plan.graph import parents_of
from dbt.adapters.alluvium import layouts, reuse, streams

_OF_THE_PACKAGE = ("alluvium_merge", "alluvium_publish", "alluvium_tier")
_TABLES = ("model", "seed", "snapshot")
_OTHER = {
    "table": "another alias or schema",
    "stream": "another name",
    "folder": "another alias or location_root",
}
_CASE = dict.fromkeys(("table", "stream"), ", whatever the case of the names")
_ACCEPTED = {
    "model": (layouts.META, *_OF_THE_PACKAGE, reuse.META),
    "source": (streams.META,),
}
_READERS = ("model", "snapshot")


def clashes(nodes: Iterable[Any]) -> list[str]:
    """Nodes that dbt tells apart by the case of their names, and Spark takes for one table.

    Sources that are streams clash where they have one name in SQL, tables with a `location_root`
    where they have one folder. A merged model has a second table, of what it rejects.

    Args:
        nodes: enabled nodes and sources, as a manifest has them.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        if node.resource_type == "source" and streams.is_declared(node):
            name = streams.view_of(node.package_name, node.source_name, node.name)
            places.setdefault(("stream", in_catalog(name)), []).append(node.unique_id)
        elif node.resource_type in _TABLES and node.config.materialized != "ephemeral":
            name = f"{node.schema}.{node.alias}"
            places.setdefault(("table", in_catalog(name)), []).append(node.unique_id)
            if "alluvium_merge" in (node.config.meta or {}):
                kept = f"{in_catalog(name)}__rejected"
                places.setdefault(("table", kept), []).append(
                    f"{node.unique_id} (its rejected events)"
                )
            root = node.config.get("location_root")
            if root is not None and node.config.materialized != "view":
                folder = f"{str(root).rstrip('/')}/{node.alias}"
                places.setdefault(("folder", folder), []).append(node.unique_id)
    return [
        f"{', '.join(sorted(ids))}: one {kind} to Spark, {name}{_CASE.get(kind, '')};"
        f" accepted: {_OTHER[kind]} for each"
        for (kind, name), ids in places.items()
        if len(ids) > 1
    ]


def mistakes(nodes: Iterable[Any]) -> list[str]:
    """Every mistake in `meta.alluvium_*` of these nodes and sources, as a manifest has them.

    For a project without the dbt package, which otherwise checks them all.
    """
    found = []
    for node, accepted, meta in _with_meta(nodes):
        ours = [key for key in meta if isinstance(key, str) and key.startswith("alluvium_")]
        found += [
            f"{node.name}: meta.{key} is not known on a {node.resource_type};"
            f" accepted: {', '.join(accepted)}{did_you_mean(key, accepted)}"
            for key in ours
            if key not in accepted
        ]
        found += [
            f"{node.name}: meta.{key} needs the dbt package `alluvium`:"
            " add it to packages.yml and run `dbt deps`"
            for key in ours
            if key in accepted and key in _OF_THE_PACKAGE
        ]
        if layouts.META in accepted and layouts.META in meta:
            found += layouts.mistakes([node.to_dict()])
        if streams.META in accepted and streams.META in meta:
            found += streams.mistakes([node.to_dict()])
    return found


def without_effect(nodes: Iterable[Any]) -> list[str]:
    """Keys that change nothing, and may have been meant as ours.

    As the dbt package warns of them where it is installed.
    """
    return [
        f"{node.name}: meta.{key} is not a setting of alluvium and changes nothing;"
        f" did you mean {nearest(key, accepted)}?"
        for node, accepted, meta in _with_meta(nodes)
        for key in meta
        if not str(key).startswith("alluvium_") and nearest(key, accepted)
    ]


def _with_meta(nodes: Iterable[Any]) -> Iterator[tuple[Any, tuple[str, ...], Mapping[Any, Any]]]:
    """The nodes that may have keys of ours, which those are, and `meta`."""
    for node in nodes:
        accepted = _ACCEPTED.get(node.resource_type)
        meta = getattr(node.config, "meta", None)
        if accepted is not None and isinstance(meta, Mapping):
            yield node, accepted, meta


def cleaned_twice(nodes: Iterable[Any]) -> list[str]:
    """Streaming tables that delete or move away files which other nodes of the project read.

    A table of another target or project cannot be seen.

    Args:
        nodes: enabled nodes and sources, as a manifest has them.
    """
    nodes = list(nodes)
    feeds = {node.unique_id: feed for node in nodes if (feed := streams.feed_of(node)) is not None}
    cleaned = {one for one, feed in feeds.items() if feed.cleans}
    if not cleaned:
        return []
    by_id = {node.unique_id: node for node in nodes}
    readers = {
        one: [
            node
            for node in nodes
            if node.resource_type in _READERS
            and node.config.materialized != "ephemeral"
            and one in _read(node, by_id)
        ]
        for one in feeds
    }
    places = {one: list(read_places(str(feed.path))) for one, feed in feeds.items()}
    found = []
    for one in sorted(cleaned):
        others = _sharers(feeds, places, one)
        reading = {node.unique_id: node.name for other in others for node in readers[other]}
        is_cleaned = any(n.config.materialized == "streaming_table" for n in readers[one])
        if is_cleaned and len(reading) > 1:
            option = feeds[one].options["cleanSource"]
            found.append(
                f"source {feeds[one].spec.source}: meta.{streams.META}.options.cleanSource: "
                f"{option}: a file is taken away once one streaming table has read it, and "
                f"{', '.join(sorted(reading.values()))} read these files; accepted: one streaming "
                "table that reads them, and others that read it by ref(); or no cleanSource"
            )
    return found


def on_one_disk(nodes: Iterable[Any], warehouse: str) -> list[str]:
    """Places on this machine's disk, where a cluster's executors would each use their own.

    Args:
        nodes: enabled nodes and sources, as a manifest has them.
        warehouse: where tables go that no `location_root` sends elsewhere.
    """
    places = {"the warehouse": warehouse}
    for node in nodes:
        if node.resource_type in _TABLES and node.config.get("location_root"):
            places[f"location_root of {node.name}"] = str(node.config.get("location_root"))
        feed = streams.feed_of(node)
        if feed is not None and feed.path is not None:
            places[f"landing of {feed.spec.source}"] = feed.path
    local = [f"{what} ({path})" for what, path in places.items() if _is_local(path)]
    if not local:
        return []
    return [
        "Spark's machines would each read and write a disk of their own there:"
        f" {', '.join(local)}; accepted: a URI such as s3a://bucket/folder, or `shared_disk: true`"
        " in the profile where every machine sees these paths"
    ]


def _is_local(path: str) -> bool:
    return Place.of(path, Place(LOCAL, "/")).system == LOCAL


def _read(node: Any, by_id: dict[str, Any]) -> Iterator[str]:
    """Unique ids of what a node's query reads, also by ephemeral models."""
    for one in parents_of(node):
        parent = by_id.get(one)
        if parent is not None and parent.resource_type != "source":
            if parent.config.materialized == "ephemeral":
                yield from _read(parent, by_id)
        else:
            yield one


def _sharers(
    feeds: Mapping[str, stream.Feed], places: Mapping[str, list[str]], cleaned: str
) -> list[str]:
    """The sources that may read what one takes away. That is not what a link leads to.

    places: of each source, its own first.
    """
    own = places[cleaned][0]
    names = {one: feed.options.get("pathGlobFilter", "*") for one, feed in feeds.items()}
    return [
        one
        for one in feeds
        if may_be_listed(names[cleaned], names[one])
        and any(may_be_listed(own, place) for place in places[one])
    ]
