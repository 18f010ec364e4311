"""Tags, clones and the history of tables, and the vacuum that leaves alone what they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt_common.exceptions import DbtRuntimeError

from alluvium.delta.log import log
from alluvium.delta.log.commit_files import TableLog
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.refs import dependents, pinned, unregistered
from alluvium.delta.refs.clones import Made
from alluvium.delta.refs.dependents import Dependent
from alluvium.engine import metastore
from alluvium.merge import progress
from alluvium.plan import published_models
from alluvium.report.log_lines import log_lines, names, parsed_moment, version_lines
from alluvium.versions import refs
from alluvium.versions.points import Point, PointTable, resolve
from alluvium.wording import counted
from dbt.adapters.alluvium import live
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.publishing import Publishing


class Versioning(Publishing):
    @available.parse(lambda *a, **k: "")
    def tag(
        self,
        unique_id: str,
        name: str,
        point: Mapping[str, Any],
        message: str | None,
        dry_run: bool,
    ) -> str:
        """Tag a version of a model's table; the line that says so. `refs.tag`.

        point: what `point_of` takes.

        Raises:
            DbtRuntimeError: There is no such version, or there is such a tag; nothing was changed.
        """
        with self._working("alluvium.tag") as session:
            found = self.point_of(unique_id, point)
            made = refs.tag(session, found, name, message).done(dry_run=dry_run)
        does = "would name" if dry_run else "names"
        return (
            f"{self.nodes[unique_id].name}: tag {name} {does} {_shown(made, point)},"
            f" {counted(made.files, 'file')}, none copied"
        )

    @available.parse(lambda *a, **k: "")
    def untag(self, unique_id: str, name: str, dry_run: bool) -> str:
        """Take a tag of a model's table away; the line that says so. `refs.untag`.

        Raises:
            DbtRuntimeError: There is no such tag.
        """
        node = self.nodes[unique_id]
        with self._working("alluvium.untag") as session:
            was = refs.untag(session, self.asked(unique_id).name, name).done(dry_run=dry_run)
        does = "would be" if dry_run else "is"
        return f"{node.name}: tag {name}, of version {was.version:,}, {does} taken away"

    @available.parse(lambda *a, **k: "")
    def clone(
        self,
        unique_id: str,
        to: str,
        point: Mapping[str, Any],
        message: str | None,
        dry_run: bool,
    ) -> str:
        """Clone a version of a model's table; the line that says so. `refs.clone`.

        Args:
            to: the new table, `name` in the model's schema or `schema.name`.
            point: what `point_of` takes.

        Raises:
            DbtRuntimeError: There is no such version, or there is such a table; nothing was made.
        """
        node = self.nodes[unique_id]
        with self._working("alluvium.clone") as session:
            found, schema = self.point_of(unique_id, point), str(node.schema)
            planned = refs.clone(session, found, to, message, schema=schema)
            made = planned.done(dry_run=dry_run)
        does = "would show" if dry_run else "shows"
        return (
            f"{node.name}: clone {made.ref.name} {does} {_shown(made, point)},"
            f" {counted(made.files, 'file')}, none copied"
        )

    @available.parse_none
    def clone_with_progress(self, source: AlluviumRelation, target: AlluviumRelation) -> None:
        """Clone the newest version of a table for `dbt clone`; what it has merged, or shows of a
        candidate, is in the clone's own commit.

        Raises:
            DbtRuntimeError: There is such a table; nothing was made.
        """
        of, name = source.stored.render(), (str(target.schema), str(target.identifier))
        with self._working(f"{target.render()} is not cloned") as session:
            planned = refs.clone_into(session, Point(of), name, began=progress.of_clone)
            if not planned.apply().has_begun:  # Delta's own command made it
                progress.copy(session, of, target.render())

    @available.parse_none
    def note_clone(self, source: AlluviumRelation, target: AlluviumRelation) -> None:
        """Note a clone that `dbt clone` is about to make, so that vacuum of its source knows it."""
        schema, name = str(target.schema), str(target.identifier)
        with self._working() as session:
            place = unregistered.default_folder(session, schema, name)
            folders = dependents.roots(TableSnapshot.of(session, source.stored.render()))
            dependents.note(session, Dependent("clone", f"{schema}.{name}", place), folders)

    @available.parse(lambda *a, **k: "")
    def at(
        self,
        relation: AlluviumRelation,
        version: int | None,
        timestamp: str | None,
        tag: str | None,
        batch: int | None,
    ) -> str:
        """A relation at an earlier version, as `from` has it.

        Raises:
            DbtRuntimeError: There is no such version, and which there are.
        """
        name = relation.stored.render()
        found = [
            one.unique_id
            for one in self.nodes.values()
            if one.resource_type in ("model", "seed", "snapshot")
            and self.table_of(one).lower() == name.lower()
        ]
        with self._working("alluvium.at") as session:
            table = self.asked(found[0]) if found else PointTable(name, str(relation.identifier))
            point = resolve(
                session, table, version=version, timestamp=timestamp, tag=tag, batch=batch
            )
            rows = point.sql()
            if relation.live_only and live.marks(session)(rows):
                rows = live.subquery(rows)
            elif relation.live_only and tag is not None:
                rows = live.either_way(rows)  # another version may have the tag by then
        return relation.as_rows(rows)

    @available.parse_list
    def table_log(
        self,
        table: str,
        model: str,
        limit: int | None = None,
        since: str | None = None,
        show: int | None = None,
        published: dict[str, str] | None = None,
    ) -> list[str]:
        """The history of a table in lines: `log_lines`; or one version of it: `version_lines`.

        Args:
            since: a date, or a date and time, in UTC.
            show: the version.
            published: by the name of its model, published tables that may show this one.

        Raises:
            DbtRuntimeError: the table is none of Delta's, or its log does not tell the version.
        """
        with self._working("alluvium.commits") as session:
            table_log = TableLog(session, table)
            pointers = names(session, table_log, published or {})
            if show is not None:
                return list(version_lines(table_log, model, show, pointers))
            begins = None if since is None else parsed_moment(since)
            return list(log_lines(table_log, model, limit, begins, pointers))

    def point_of(self, unique_id: str, given: Mapping[str, Any]) -> Point:
        """The version of a model's table that was asked for.

        given: `version`, `timestamp`, `tag` or `batch`; without any it is the newest.

        Raises:
            ValueError: There is no such version, and which there are.
        """
        timestamp = given.get("timestamp")
        values = {**given, "timestamp": None if timestamp is None else str(timestamp)}
        return resolve(self._handle.session, self.asked(unique_id), **values)

    def asked(self, unique_id: str) -> PointTable:
        """A model's table, with its candidate where it is published.

        Raises:
            ValueError: The table is not there.
        """
        node = self.nodes[unique_id]
        name = self.table_of(node)
        self._check_built(name, f"{node.name}: ")
        if not published_models.is_published(node):
            return PointTable(name, node.name)
        candidate = published_models.candidate_of(node, self.nodes)
        return PointTable(name, node.name, PointTable(self.table_of(candidate), candidate.name))

    @available.parse_list
    def vacuum(self, relation: AlluviumRelation, dry_run: bool = False) -> list[str]:
        """VACUUM of a table, but for what other tables need of its files: as `pinned.vacuum`.

        Those are what its register names, the project's published models that show it, and clones
        that the metastore knows.

        Raises:
            DbtRuntimeError: It is not known what one of them needs; nothing was deleted.
        """
        table = relation.stored.render()
        with self._working(f"alluvium.vacuum of {table}") as session:
            folder = log.folder(session, table)
            tables = [one for one in self._in_metastore() if one.location != folder]
            others = [*pinned.clones(session, folder, tables), *self._shows(table)]
            return pinned.vacuum(session, table, others, dry_run=dry_run)

    def _in_metastore(self) -> list[Dependent]:
        """The Delta tables that the metastore knows, as if each were a clone."""
        return [
            Dependent("clone", one.name, one.location)
            for one in metastore.delta_tables(self._handle.session)
            if one.location
        ]

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table or view, unless other tables need files that would go with it.

        Raises:
            DbtRuntimeError: They do, or it is not known; nothing was dropped.
        """
        if relation.is_table and relation.schema:
            self._check_droppable(relation)
        super().drop_relation(relation)

    def _check_droppable(self, relation: BaseRelation) -> None:
        who = f"{relation.render()} is not dropped"
        with self._working(who) as session:
            found = metastore.table(session, str(relation.schema), str(relation.identifier))
            # An external table leaves its files.
            if found is None or not (found.is_managed and found.provider == "delta"):
                return
            folder = log.folder(session, relation.render())
            needing = dependents.needing(session, folder)
        if needing:
            raise DbtRuntimeError(
                f"{who}: its files are needed by {dependents.named(needing)}. Nothing was changed."
                " Accepted: to drop those tables first, and to untag tags; or another alias for"
                " the model"
            )

    def _shows(self, table: str) -> list[Dependent]:
        """The project's published models that show a table, and were built."""
        session: Any = self._handle.session
        found = []
        for node, candidate in published_models.candidates(self.nodes):
            shown = self.table_of(node)
            is_shown = self._candidates[candidate.unique_id].lower() == table.lower()
            if is_shown and self._version(shown) is not None:
                location = log.folder(session, shown)
                found.append(Dependent("published", node.name, location))
        return found


def _shown(made: Made, point: Mapping[str, Any]) -> str:
    tag = point.get("tag")
    return f"version {made.ref.version:,}" if tag is None else f"what tag {tag} names"
