"""A look as an HTML page: one file without a script, without anything from elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from alluvium.plan.status import model, stages
from alluvium.plan.status.feed import FINE, NOTICE, UNKNOWN, WRONG, FeedStatus, waits
from alluvium.plan.status.model import Whole
from alluvium.plan.status.stages import Stage
from alluvium.status import charts
from alluvium.status.look import Look, SeenFeed, whole
from alluvium.status.project import Node, Project, ProjectError
from alluvium.wording import counted, in_bytes, listed, moment, span

NAME = "alluvium.html"
# How states are shown beside their colours: a sign, and a word.
_SIGNS = {UNKNOWN: "?", WRONG: "✕", NOTICE: "!", FINE: "✓", stages.IDLE: "·"}
_WORDS = {UNKNOWN: "unknown", WRONG: "wrong", NOTICE: "notice", FINE: "fine"}
# Characters of a text that somebody wrote, and names in a list, that are shown.
_LONGEST, _NAMED = 300, 6
# What is due that is shown at once.
_FIRST = 5


@dataclass(frozen=True)
class _Row:
    """A feed with all that its row shows.

    Attributes:
        shown: the table whose files and commits are shown.
        tables: of the feed, in the order in which they are built.
        waited: the part of its slo that the oldest event has waited; None for none.
    """

    seen: SeenFeed
    shown: Whole
    description: str
    waited: float | None
    tables: list[Whole]

    @property
    def feed(self) -> FeedStatus:
        return self.seen.stands


@dataclass(frozen=True)
class _Lane:
    """A streaming table with its source, and what is behind it; a way for each feed."""

    trunk: list[Stage]
    ways: list[list[Stage]]


def write(project: Project, found: Look) -> Path:
    """Write the page beside the manifest; its path.

    Raises:
        ProjectError: it cannot be written there.
    """
    path = project.target_folder / NAME
    text = render(project, found)
    # Whole or not at all: somebody may have it open.
    written = path.with_name(f".{NAME}.{os.getpid()}")
    try:
        written.write_text(text, encoding="utf-8")
        return written.replace(path)
    except OSError as error:
        written.unlink(missing_ok=True)
        raise ProjectError(
            f"{path} cannot be written ({error}); accepted: a target path that may be written"
            " (--target)"
        ) from error


def render(project: Project, found: Look) -> str:
    """The page of a look."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "bytes": in_bytes,
        "moment": moment,
        "span": span,
        "short": _short,
        "counted": counted,
    }
    rows = [_row(project, one, found) for one in found.seen]
    states = [one.feed.state for one in rows]
    return environment.get_template("report.html").render(
        project=project,
        home=_home(project),
        found=found,
        rows=rows,
        lanes=list(_lanes(project, found)),
        tally=[(state, states.count(state)) for state in _WORDS if state in states],
        signs=_SIGNS,
        words=_WORDS,
        charts=charts,
        waits=waits,
        FIRST=_FIRST,
        named=lambda names: listed([_short(one, 60) for one in names], _NAMED),
    )


def _row(project: Project, one: SeenFeed, found: Look) -> _Row:
    main = one.parts.merged or one.parts.bronze
    assert main is not None
    feed = one.stands
    seconds = feed.waiting.seconds(found.at) if feed.waiting else None
    waited = seconds / feed.slo if feed.slo and seconds is not None else None
    shown = whole(project, main, found.at)
    tables = [
        shown if node is main else model.whole(project.table(node)) for node in one.parts.nodes
    ]
    named = one.parts.published or main
    return _Row(
        one,
        shown,
        _first_sentence(named.description or main.description),
        waited,
        tables,
    )


def _lanes(project: Project, found: Look) -> Iterator[_Lane]:
    """Feeds in the order of the look; those of one streaming table together."""
    order: dict[str, int] = {}
    for one in found.seen:
        order.setdefault(_trunk_of(one), len(order))
    in_order = sorted(found.seen, key=lambda one: order[_trunk_of(one)])
    for _, of_one in groupby(in_order, _trunk_of):
        feeds = list(of_one)
        yield _Lane(_trunk(project, feeds, found), [_way(project, one, found) for one in feeds])


def _trunk_of(one: SeenFeed) -> str:
    node = one.parts.bronze or one.parts.merged
    return "" if node is None else node.unique_id


def _trunk(project: Project, feeds: Sequence[SeenFeed], found: Look) -> list[Stage]:
    node, feed = feeds[0].parts.bronze, feeds[0].stands
    if node is None:
        return []
    sources = [stages.source(name, feed, found.at) for name in _sources(node)]
    return [*sources, stages.bronze(project.table(node), feed, found.at)]


def _way(project: Project, one: SeenFeed, found: Look) -> list[Stage]:
    merged, published = one.parts.merged, one.parts.published
    if merged is None:
        return []
    shows = None if published is None else project.table(published)
    return list(stages.after_bronze(one.stands, project.table(merged), shows, found.at))


def _sources(node: Node) -> list[str]:
    """Names of the sources that a node reads, without what their options say."""
    ids = (one.split(".", 2) for one in node.depends_on.nodes)
    return [one[2] for one in ids if one[0] == "source" and len(one) == 3]


def _home(project: Project) -> str:
    """Where the tables lie; from the project's folder if it is within."""
    folder = project.folder.resolve()
    is_within = project.home.is_relative_to(folder)
    return str(project.home.relative_to(folder) if is_within else project.home)


def _short(text: Any, most: int = _LONGEST) -> str:
    said = str(text)
    return said if len(said) <= most else f"{said[: most - 1]}…"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]
