"""Notes of what no log says, for `alluvium status`: small files, each replaced whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.paths import Place
from alluvium.plan.layout.settings import duration
from alluvium.plan.status import notes
from alluvium.plan.status.table import FailedAudit, NodeNote

_log = AdapterLogger("Alluvium")
# Of all threads: a test and its candidate's other tests end at one time.
_writing = threading.Lock()


def ended(session: SparkSession, home: Path, table: str, name: str, error: object) -> None:
    """Note that a node has ended.

    Args:
        table: its table's name, as SQL writes it.
        name: schema, dot and name of it.
        error: what stopped the node; None for nothing.
    """
    path = home / notes.FOLDER / notes.file_name(name)
    try:
        table_log = log.delta_log(session, table)
        snapshot = table_log.unsafeVolatileSnapshot()
        version = int(snapshot.version())
        table_id = str(snapshot.metadata().id()) if version >= 0 else None
        place = _inside(home, log.qualified(table_log))
    except (PySparkException, Py4JError):  # nothing is there, or another format
        version, table_id, place = -1, None, None
    with _writing:
        before = read(home, name)
        if before is not None and table_id is None and error is not None:
            # It was renamed or dropped: what it was is what to look for.
            place, table_id = before.place, before.table_id
        held = before.held_back if before is not None else None
        # What was held back is that still where the node has made no other version.
        stays = held is not None and (held.table_id, held.version) == (table_id, version)
        note = NodeNote(
            place=place,
            table_id=table_id,
            at=datetime.now(UTC),
            outcome="success" if error is None else "error",
            held_back=held if stays else None,
        )
        write(path, notes.text(note, name))


def held_back(home: Path, name: str, held: FailedAudit) -> None:
    """Note what the audit of a candidate holds back; name: schema, dot and name of its table."""
    path = home / notes.FOLDER / notes.file_name(name)
    with _writing:
        before = read(home, name) or NodeNote(None, held.table_id, datetime.now(UTC), "success")
        write(path, notes.text(replace(before, held_back=held), name))


def building(project: Path, target: Path, home: Path, build: notes.Build, tiers: Any) -> None:
    """Note where the tables of a target lie, and how long events of its tiers may wait.

    Args:
        project: its folder.
        target: the folder that dbt writes `manifest.json` to.
        build: without home and tiers.
        tiers: as the package's macro gives them; None where it is not there.
    """
    inside = _inside(project.resolve(), str(home))
    slos = {}
    for tier, settings in (tiers or {}).items():
        if isinstance(settings, Mapping) and settings.get("slo") is not None:
            slos[str(tier)] = duration(settings["slo"])
    write(target / notes.BUILD, notes.text(replace(build, home=inside, slos=slos)))


def _inside(folder: Path, place: str) -> str:
    """A place as it lies in a folder; one that is elsewhere as it is."""
    return Place.of(place).inside(Place.of(str(folder))) or place


def read(home: Path, name: str) -> NodeNote | None:
    """What is noted of a node; name: schema, dot and name of its table."""
    path = home / notes.FOLDER / notes.file_name(name)
    try:
        return notes.of_node(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write(path: Path, text: str) -> None:
    """Replace a file whole; where that cannot be done a build goes on without."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        _log.debug(f"{path} was not written: {error}")
