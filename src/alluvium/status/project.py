"""A project and its home as files tell them: dbt's manifest, what the adapter noted, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from alluvium import marks
from alluvium.names import in_catalog
from alluvium.paths import LOCAL, Place
from alluvium.plan import published_models
from alluvium.plan.graph import is_in_files
from alluvium.plan.snapshot import Snapshot
from alluvium.plan.status import due, notes
from alluvium.plan.status.feed import MOST
from alluvium.plan.status.table import NodeNote, SeenTable
from alluvium.status import log_reader
from alluvium.status.log_reader import DAMAGES, LOG, LogError, LogFiles, in_short
from alluvium.status.stores import Folder, StoreError, Stores

_KINDS = ("model", "seed", "snapshot")
# Tables of a store that are read at a time.
_READERS = 16
_WRITTEN = (".sql", ".py", ".yml", ".yaml", ".csv")
# What `delta.refs.refs` and `delta.refs.dependents` keep in the folder of a table.
_TAGS, _REGISTER = "_alluvium/tags", "_alluvium/dependents"


class ProjectError(ValueError):
    """A project that cannot be looked at; the message says why and what is accepted."""


@dataclass(frozen=True)
class Config:
    """A node's config, as the manifest has it."""

    values: Mapping[str, Any]

    @property
    def materialized(self) -> str:
        return str(self.values.get("materialized"))

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.values.get("meta") or {}

    def get(self, key: str) -> Any:
        return self.values.get(key)


@dataclass(frozen=True)
class DependsOn:
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A node of the manifest, with the names that dbt's own have."""

    unique_id: str
    name: str
    resource_type: str
    package_name: str
    schema: str
    alias: str
    config: Config
    depends_on: DependsOn
    raw_code: str
    description: str = ""
    version: str | int | None = None

    @property
    def table(self) -> str:
        return f"{self.schema}.{self.alias}"

    @staticmethod
    def of(given: Mapping[str, Any]) -> Node:
        return Node(
            unique_id=given["unique_id"],
            name=given["name"],
            resource_type=given["resource_type"],
            package_name=given.get("package_name") or "",
            schema=given.get("schema") or "",
            alias=given.get("alias") or given["name"],
            config=Config(given.get("config") or {}),
            depends_on=DependsOn(tuple((given.get("depends_on") or {}).get("nodes") or ())),
            raw_code=given.get("raw_code") or "",
            description=given.get("description") or "",
            version=given.get("version"),
        )


@dataclass(frozen=True)
class Project:
    """A project, as its last parse left it.

    Attributes:
        name: of the project.
        folder: of the project.
        target_folder: that dbt writes to.
        home: of its tables.
        nodes: models and snapshots, by unique id.
        target: the name of the target that built last; None where no build noted it.
        slos: seconds that events of a tier may wait, by its name.
        parsed: when the manifest was written, in seconds since 1970.
        stores: read the tables.
    """

    name: str
    folder: Path
    target_folder: Path
    home: Path
    nodes: Mapping[str, Node]
    target: str | None
    slos: Mapping[str, float]
    parsed: float
    files: tuple[str, ...] = ()
    stores: Stores = field(kw_only=True)
    _tables: dict[str, SeenTable] = field(default_factory=dict)

    @cached_property
    def in_files(self) -> Mapping[str, Node]:
        """The nodes that keep a Delta table."""
        return {one.unique_id: one for one in self.nodes.values() if is_in_files(one)}

    @cached_property
    def shown_by(self) -> Mapping[str, list[Node]]:
        """The published models that show a node's table, by its unique id."""
        found: dict[str, list[Node]] = {}
        for node, candidate in published_models.candidates(self.nodes):
            found.setdefault(candidate.unique_id, []).append(node)
        return found

    def name_of(self, node: Node) -> str:
        """The shortest text that means a model and no other, as operations take one."""
        others = [one for one in self.nodes.values() if one.name == node.name]
        if len(others) == 1:
            return node.name
        versioned = node.name if node.version is None else f"{node.name}.v{node.version}"
        same = [one for one in others if one.version == node.version]
        return versioned if len(same) == 1 else f"{node.package_name}.{versioned}"

    def slo_of(self, node: Node) -> float | None:
        return self.slos.get(str(node.config.meta.get("alluvium_tier")))

    def table(self, node: Node) -> SeenTable:
        """The table of a node; read once."""
        if node.unique_id not in self._tables:
            self._tables[node.unique_id] = _table(self, node)
        return self._tables[node.unique_id]

    def read_ahead(self) -> None:
        """Read all tables, those of stores side by side: each step of a log takes a request."""
        nodes = self.in_files.values()
        far = [one for one in nodes if _place(self, one, _note(self, one)).system != LOCAL]
        with ThreadPoolExecutor(_READERS) as pool:
            list(pool.map(self.table, far))

    def newer(self) -> str | None:
        """A model or YAML file that is newer than the manifest; None for none."""
        roots = {(self.folder / one).parent for one in self.files}
        due = [self.folder / "dbt_project.yml", *_files(roots)]
        newest = max(((_written(one), one) for one in due), default=None)
        if newest is None or newest[0] <= self.parsed:
            return None
        return str(newest[1].relative_to(self.folder))


def read(folder: Path, target: Path | None, home: Path | None) -> Project:
    """A project by its folder.

    Args:
        target: the folder that dbt writes `manifest.json` to; `target` in the project's by default.
        home: where the tables lie; by default what the last build noted, else `.alluvium`.

    Raises:
        ProjectError: there is no manifest, or no home.
    """
    target = folder / (target or "target")
    path = target / "manifest.json"
    try:
        manifest, parsed = json.loads(path.read_bytes()), path.stat().st_mtime
        nodes = [Node.of(one) for one in manifest["nodes"].values() if _is_kept(one)]
    except FileNotFoundError:
        raise ProjectError(
            f"there is no {path}; accepted: the folder of a dbt project (--project-dir) in which"
            " `dbt parse` or a build ran, and its target path (--target)"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProjectError(
            f"{path} cannot be read ({type(error).__name__}: {error}); accepted: as `dbt parse`"
            " writes it"
        ) from error
    of_build = notes.of_build(_text(target / notes.BUILD))
    home = home or (folder / (of_build.home or ".alluvium"))
    if not home.is_dir():
        raise ProjectError(
            f"there is no home {home}; accepted: one that a build made, or another by --home"
        )
    own = (manifest.get("metadata") or {}).get("project_name")
    return Project(
        name=str(own or folder.resolve().name),
        folder=folder,
        target_folder=target,
        home=home.resolve(),
        nodes={one.unique_id: one for one in nodes},
        target=of_build.target,
        slos=of_build.slos,
        parsed=parsed,
        files=tuple(
            str(one["original_file_path"])
            for one in manifest["nodes"].values()
            if one.get("package_name") == own and one.get("original_file_path")
        ),
        stores=Stores(partial(_spark_conf, folder, of_build.target)),
    )


def _spark_conf(folder: Path, target: str | None) -> Mapping[str, str]:
    # Of the adapter, which this library does not know; and dbt takes seconds to load.
    service = import_module("dbt.adapters.alluvium.service")
    found: Mapping[str, str] = service.spark_conf(folder, target)
    return found


def _is_kept(node: Mapping[str, Any]) -> bool:
    return node.get("resource_type") in _KINDS


def _table(project: Project, node: Node) -> SeenTable:
    note = _note(project, node)
    at = _place(project, node, note)
    shown = re.sub("://[^/@]*@", "://…@", at.shown)  # without a key that stands in it
    about: dict[str, Any] = {
        "name": project.name_of(node),
        "unique_id": node.unique_id,
        "place": shown,
        "note": note,
    }
    try:
        place = project.stores.folder(at)
        if not (place / LOG).is_dir():
            # A node that failed before its first table has left a note without an id.
            was_there = note is not None and note.table_id is not None
            problem = f"there is no table in {place}" if was_there else None
            return SeenTable(**about, problem=problem, is_built=was_there)
        log, snapshot = log_reader.read(place)
    except (StoreError, OSError) as error:
        return SeenTable(**about, problem=f"{shown} is not read: {in_short(error)}")
    except LogError as error:
        return SeenTable(**about, problem=str(error))
    return SeenTable(
        **about,
        snapshot=snapshot,
        unfinished=log.unfinished,
        commits=log.newest_first,
        pinned=lambda now: _pinned(project, place, now),
        tags=_tags(place),
        branches=_branches(project, place, snapshot.id),
    )


def _note(project: Project, node: Node) -> NodeNote | None:
    return notes.of_node(_text(project.home / notes.FOLDER / notes.file_name(node.table)))


def _place(project: Project, node: Node, note: NodeNote | None) -> Place:
    home = Place.of(str(project.home))
    if note is not None and note.place is not None:
        return Place.of(note.place, home)
    if root := node.config.get("location_root"):
        return Place.of(root, Place.of(str(project.folder.resolve()))) / node.alias
    schema, name = in_catalog(node.schema), in_catalog(node.alias)
    return home / "warehouse" / (name if schema == "default" else f"{schema}.db/{name}")


def _tags(place: Folder) -> dict[str, int]:
    found = (log_reader.first_commit(one) for one in _children(place / _TAGS))
    refs = (one.note(marks.REF_NOTE) for one in found if one is not None)
    return {str(one["name"]): int(one["version"]) for one in refs if one and "version" in one}


def _branches(project: Project, place: Folder, table_id: str) -> dict[str, int]:
    """Where the branches of a table are of it: where they began, or what was merged last."""
    found = {}
    for name, _, snapshot in _dependents(project, place, "branch"):
        number = snapshot.transactions.get(f"{marks.BRANCH}{table_id}")
        if number is not None:  # else another table's by now
            found[name] = number
    return found


def _pinned(project: Project, place: Folder, now: datetime) -> set[str]:
    """As `SeenTable.pinned`; of a log that cannot be read none, and `alluvium.vacuum` says so."""
    found = set[str]()
    for _, log, snapshot in _dependents(project, place, "branch", "clone", "published", "tag"):
        found |= set(map(due.file_name, pc.unique(snapshot.files["path"]).to_pylist()))
        since = due.millis(now - due.retention(snapshot.properties))
        with suppress(*DAMAGES):
            for one in islice(log.newest_first(), MOST):
                found |= {
                    due.file_name(file["path"])
                    for file in one.removed
                    if (file.get("deletionTimestamp") or 0) >= since
                }
    return found


def _dependents(
    project: Project, place: Folder, *kinds: str
) -> Iterator[tuple[str, LogFiles, Snapshot]]:
    """What the register of a table names, as far as its log can be read: name and log."""
    for path in _children(place / _REGISTER):
        try:
            entry = json.loads(path.read_bytes())
            at = Place.of(entry["location"])
            if entry.get("kind") in kinds:
                yield str(entry["name"]), *log_reader.read(project.stores.folder(at))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # discarded, or never made


def _children(folder: Folder) -> list[Folder]:
    try:
        return sorted(folder.iterdir(), key=str)
    except OSError:
        return []


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _files(roots: Iterable[Path]) -> Iterator[Path]:
    for root in roots:
        if root.is_dir():
            yield from (one for one in root.rglob("*") if one.suffix in _WRITTEN)


def now() -> datetime:
    return datetime.now(UTC)
