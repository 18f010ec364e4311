"""A look at a project: its feeds, and what is due."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from alluvium.compact.storage import bucket_rows
from alluvium.plan.commands import operation
from alluvium.plan.graph import MERGE_META, bronze_of, keeps_tombstones
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.settings import Layout, parse_layout
from alluvium.plan.status import due, model
from alluvium.plan.status.due import Due
from alluvium.plan.status.feed import UNKNOWN, WRONG, FeedStatus, feed, worst_first
from alluvium.plan.status.model import Buckets, Past, Whole
from alluvium.plan.versions.heads import head_of
from alluvium.status.log_reader import DAMAGES, in_short
from alluvium.status.project import Node, Project, ProjectError


@dataclass(frozen=True)
class FeedParts:
    """The nodes that a feed is made of, as far as it has them."""

    name: str
    bronze: Node | None
    merged: Node | None
    published: Node | None

    @property
    def nodes(self) -> list[Node]:
        return [one for one in (self.bronze, self.merged, self.published) if one is not None]


@dataclass(frozen=True)
class SeenFeed:
    """A feed as a look found it.

    Attributes:
        due: what mends it.
    """

    parts: FeedParts
    stands: FeedStatus
    due: tuple[Due, ...]


@dataclass(frozen=True)
class Look:
    """What a look found.

    Attributes:
        seen: worst first.
        of_tables: what is due at tables.
        stale: a file of the project that is newer than its last parse.
    """

    at: datetime
    seen: tuple[SeenFeed, ...]
    of_tables: tuple[Due, ...]
    stale: str | None

    @property
    def feeds(self) -> tuple[FeedStatus, ...]:
        return tuple(one.stands for one in self.seen)

    @property
    def due(self) -> tuple[Due, ...]:
        return (*(todo for one in self.seen for todo in one.due), *self.of_tables)

    @property
    def is_wrong(self) -> bool:
        """Whether a feed is late or held back, or cannot be looked at."""
        return any(one.state in (WRONG, UNKNOWN) for one in self.feeds)


def look(project: Project, now: datetime, only: Node | None = None) -> Look:
    """How the feeds of a project stand.

    only: a model; then the feeds that it is a part of.
    """
    if only is None:
        project.read_ahead()
    found: list[SeenFeed] = []
    for one in _feeds(project):
        if only is not None and only not in one.nodes:
            continue
        bronze, merged, published = (
            None if node is None else project.table(node)
            for node in (one.bronze, one.merged, one.published)
        )
        slos = [slo for node in one.nodes if (slo := project.slo_of(node)) is not None]
        slo = min(slos, default=None)
        try:
            stands = feed(one.name, bronze, merged, published, slo, now)
        except DAMAGES as error:
            problem = f"a log of it cannot be read: {in_short(error)}"
            stands = FeedStatus(one.name, (problem,), is_damaged=True)
        found.append(SeenFeed(one, stands, tuple(_of_feed(project, one, stands))))
    found.sort(key=lambda seen: worst_first(seen.stands))
    of_tables = [
        todo
        for node in project.in_files.values()
        if only is None or node is only
        for todo in _of_table(project, node, now)
    ]
    return Look(now, tuple(found), tuple(of_tables), project.newer())


def model_named(project: Project, name: str) -> Node:
    """The model that a text names; raises ProjectError where that is none, or one of several."""
    found = [one for one in project.in_files.values() if name in _names(one)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(sorted(project.name_of(one) for one in project.in_files.values()))
    if not found:
        raise ProjectError(f"there is no model {name!r} with a Delta table; accepted: {known}")
    named = ", ".join(sorted(project.name_of(one) for one in found))
    raise ProjectError(f"{name!r} names several models; accepted: {named}")


def whole(project: Project, node: Node, now: datetime) -> Whole:
    """One model's table."""
    table, layout, problems = project.table(node), _layout(node), list[str]()
    shown = dict[str, int]()
    for one in project.shown_by.get(node.unique_id, ()):
        seen = project.table(one).snapshot
        head = None if seen is None else head_of(seen.transactions)
        if head is not None and table.snapshot is not None and head[0] == table.snapshot.id:
            shown[project.name_of(one)] = head[1]
    buckets: Buckets | None = None
    try:
        buckets = model.buckets_of(table, layout, now, bucket_rows)
    except ValueError as error:
        problems.append(f"meta.alluvium_layout: {error}")
    pointed, past = model.pointers(table, shown), Past()
    try:
        past = model.past(table, pointed, keeps_tombstones(node))
    except DAMAGES as error:
        problems.append(f"a commit of it cannot be read: {in_short(error)}")
    return model.whole(table, buckets, pointed, past, problems)


def _of_feed(project: Project, one: FeedParts, stands: FeedStatus) -> Iterator[Due]:
    node = one.merged or one.bronze
    assert node is not None
    has_progress = MERGE_META in node.config.meta
    tables = [project.table(part) for part in one.nodes]
    return due.of_feed(stands, tables, project.name_of(node), has_progress)


def _of_table(project: Project, node: Node, now: datetime) -> list[Due]:
    table = project.table(node)
    try:
        return list(due.of_table(table, _layout(node), keeps_tombstones(node), now))
    except DAMAGES as error:
        what = f"a commit of it cannot be read: {in_short(error)}"
        return [Due(table.name, what, operation("fsck", models=[table.name]))]


def _feeds(project: Project) -> Iterator[FeedParts]:
    """What is merged from a stream, what is published, and streams that nothing is merged from."""
    published = {one: nodes[-1] for one, nodes in project.shown_by.items()}
    merged_from = set[str]()
    for node in project.in_files.values():
        is_merged = MERGE_META in node.config.meta
        if not is_merged and node.unique_id not in published:
            continue
        bronze = bronze_of(node, project.nodes.get) if is_merged else None
        if bronze is not None:
            merged_from.add(bronze.unique_id)
        shows = published.get(node.unique_id)
        yield FeedParts(project.name_of(shows or node), bronze, node, shows)
    for node in project.in_files.values():
        if node.config.materialized == "streaming_table" and node.unique_id not in merged_from:
            yield FeedParts(project.name_of(node), node, None, None)


def _layout(node: Node) -> Layout | None:
    """Of a model; None for none, and for one that the next build refuses."""
    block = node.config.meta.get("alluvium_layout")
    try:
        return None if block is None else parse_layout(node.name, block)
    except LayoutError:
        return None


def _names(node: Node) -> list[str]:
    names = [node.name] + ([] if node.version is None else [f"{node.name}.v{node.version}"])
    return [*names, *(f"{node.package_name}.{one}" for one in names), node.unique_id]
