"""Branches of the project's tables, on which builds go on beside the ones of a target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation, available
from pyspark.errors import PySparkException

from alluvium.merge import execute
from alluvium.names import bare, in_catalog, quoted
from alluvium.plan import published_models
from alluvium.versions import branches, merging
from alluvium.versions.branches import Branch
from alluvium.versions.diff_lines import lines as diff_lines
from alluvium.versions.points import Point
from alluvium.wording import counted
from dbt.adapters.alluvium.verbs.versioning import Versioning

_TABLES = ("incremental", "table", "snapshot", "seed", "published")
# Part of a schema's name, which the catalog keeps in lower case.
_NAME = re.compile(r"[a-z0-9_]{1,60}")


class Branching(Versioning):
    @available.parse_list
    def branch(
        self, name: str, unique_ids: Sequence[str], timestamp: str | None, dry_run: bool
    ) -> list[str]:
        """Clone tables of models into schemas of a branch, with their progress; a line for each.

        timestamp: the newest version of each at that time; the newest of all if not given.

        Raises:
            DbtRuntimeError: A model has no table that a branch can have, or something else is
                there. What was cloned stays, and the same command does the rest.
        """
        lines = []
        with self._working("alluvium.branch") as session:
            branch = self._branch(name)
            due = []
            # What one model refuses is to stop all, before the first is cloned.
            for one in unique_ids:
                node = self.nodes[one]
                self._check(branch, node, unique_ids)
                schema = self._schema(branch, node)
                branches.has_schema(session, branch, schema)
                point = self.point_of(one, {"timestamp": timestamp})
                name_there = (schema, str(node.alias))
                due.append(
                    (point, name_there, branches.make_table(session, branch, point, name_there))
                )
            for point, (schema, alias), planned in due:
                if not dry_run:
                    branches.make_schema(session, branch, schema)
                made = planned.done(dry_run=dry_run)
                does = "would show" if dry_run else "shows"
                shown = f"{does} version {point.version:,} of {point.table}, no file copied"
                lines.append(f"{schema}.{alias}: {shown if made else f'is of {name} already'}")
        lines.append(f"{name}: a target with `schema: {branch.schema}` builds on it")
        return lines

    @available.parse_list
    def discard(self, name: str, dry_run: bool) -> list[str]:
        """Drop what a branch and its builds made, and its schemas; the lines that say so.

        Raises:
            DbtRuntimeError: There is no such branch, or other tables need its files. Nothing was
                dropped.
        """
        with self._working("alluvium.discard") as session:
            branch = self._branch(name)
            built, schemas = set[str](), set[str]()
            for node in self.nodes.values():
                # A test may have stored what fails it.
                has_table = node.is_relational or node.resource_type == "test"
                schema = _schema(branch, node) if has_table else None
                if schema is not None:
                    schemas.add(in_catalog(schema))
                    table = in_catalog(f"{schema}.{node.alias}")
                    # The macro `keep_rejected` makes the second one.
                    built |= {table, f"{table}__rejected"}
            planned = branches.discard(session, branch, built, schemas, self._in_metastore())
            done = planned.done(dry_run=dry_run)
        does = "would be dropped" if dry_run else "dropped"
        lines = [f"{table}: {does}" for table in done.tables]
        lines += [
            f"{one}: stays, for neither the branch nor a model of this project made it"
            for one in done.kept
        ]
        lines += [
            f"{one}: stays, for it is not known whether a build on the branch made this schema;"
            f" `drop schema {one} cascade` drops it, with all that is in it"
            for one in done.strangers
        ]
        dropped = ", ".join(done.schemas) or "no schema"
        lines.append(f"{name}: {counted(len(done.tables), 'table')} and {dropped} {does}")
        return lines

    @available.parse_list
    def merge_branch(
        self, name: str, unique_ids: Sequence[str], prefer: str | None, dry_run: bool
    ) -> list[str]:
        """Bring what changed on a branch into the tables of models; a line for each.

        prefer: `branch` or `table`, whose row is taken where both changed one and not alike.

        Raises:
            DbtRuntimeError: Rows changed so without `prefer`, or rows cannot be told apart.
                Nothing was changed. Or another writer came between two models; it says which are
                merged.
        """
        with self._working("alluvium.merge_branch"):
            branch = self._branch(name)
            # What one model refuses is to stop all, before the first is changed.
            lines = [self._taken_over(branch, one, prefer, dry_run=True) for one in unique_ids]
            if dry_run:
                return lines
            lines = []
            for one in unique_ids:
                try:
                    lines.append(self._taken_over(branch, one, prefer, dry_run=False))
                except (ValueError, PySparkException) as error:
                    if not lines:
                        raise
                    # One commit a table: what came before the first that fails is merged.
                    merged = ", ".join(self.nodes[done].name for done in unique_ids[: len(lines)])
                    raise ValueError(
                        f"{error}\n{merged}: merged before; the same command does the rest"
                    ) from error
        return lines

    @available.parse_list
    def diff(
        self,
        unique_id: str,
        before: Mapping[str, Any] | int | None,
        after: Mapping[str, Any] | int | None,
        limit: int,
    ) -> list[str]:
        """What differs between two versions of a model's table, as `git diff` shows it.

        Args:
            before, after: A version, what `point_of` takes, or `branch`, for the newest there; None
                for the newest.
            limit: The most rows that are shown.

        Raises:
            DbtRuntimeError: There is no such version, or none that can be read.
        """
        node = self.nodes[unique_id]
        with self._working("alluvium.diff") as session:
            old, new = self._point(unique_id, before), self._point(unique_id, after)
            key = key_of(node, self.nodes)
            return list(diff_lines(session, node.name, old, new, key, limit))

    def create_schema(self, relation: BaseRelation) -> None:
        """Create a schema; one that a build on a branch makes is the branch's, and goes with it."""
        session: Any = self._handle.session
        schema, own = str(relation.schema), str(self.config.credentials.schema)
        branch = None
        if in_catalog(schema).startswith(in_catalog(f"{own}_")):
            branch = branches.branch_of(session, own)
        if branch is None or session.catalog.databaseExists(quoted(schema)):
            super().create_schema(relation)
        else:
            branches.make_schema(session, branch, schema)

    def _taken_over(
        self, branch: Branch, unique_id: str, prefer: str | None, *, dry_run: bool
    ) -> str:
        node, session = self.nodes[unique_id], self._handle.session
        key = self._mergeable(node)
        ours = self._there_on(branch, node)
        table = execute.DeltaTable(session, self.asked(unique_id).name, unique_id)
        try:
            done = merging.merge(
                session, branch.name, ours, table, key, prefer=prefer, dry_run=dry_run
            )
        except ValueError as error:
            raise ValueError(f"{node.name}: {error}") from error
        return done.line(node.name, branch.name, dry_run)

    def _point(self, unique_id: str, given: Mapping[str, Any] | int | None) -> Point:
        point = dict(given) if isinstance(given, Mapping) else {"version": given}
        name = point.pop("branch", None)
        if name is None:
            return self.point_of(unique_id, point)
        if point:
            raise ValueError(f"branch and {', '.join(point)} are given; accepted: one of them")
        return Point(self._there_on(self._branch(name), self.nodes[unique_id]))

    def _branch(self, name: str) -> Branch:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"name is {name!r}; accepted: lower-case letters, digits and `_`, at most 60"
            )
        return Branch(name, str(self.config.credentials.schema))

    def _schema(self, branch: Branch, node: Any) -> str:
        """The schema of a node's table on the branch: the one that a target of it gives the node.

        Raises:
            ValueError: it is not known, for the project names schemas in a way of its own.
        """
        found = _schema(branch, node)
        if found is None:
            raise ValueError(
                f"{node.name}: its schema is {node.schema}, so a target of the branch may build it"
                f" in the very same one; accepted: models whose schema is the target's,"
                f" {branch.of}, or that and their config `schema`, {branch.of}_<schema>, as dbt"
                " itself names them. Give the model such a schema, or leave it out"
            )
        return found

    def _check(self, branch: Branch, node: Any, unique_ids: Sequence[str]) -> None:
        """Stop what a build on the branch would not go on with, or would do to the target's table.

        Raises:
            ValueError: what it is.
        """
        if node.config.materialized not in _TABLES:
            raise ValueError(_refused(node))
        if root := node.config.get("location_root"):
            raise ValueError(
                f"{node.name} has location_root {root}, where a full refresh on the branch would"
                " overwrite the target's table; accepted: models without one"
            )
        if published_models.is_published(node):
            candidate = published_models.candidate_of(node, self.nodes)
            table = self._on_branch(branch, candidate)
            if candidate.unique_id not in unique_ids and self._version(table) is None:
                raise ValueError(
                    f"{node.name} shows {candidate.name}, which is not on the branch; accepted:"
                    f" both, models: [{candidate.name}, {node.name}]"
                )

    def _on_branch(self, branch: Branch, node: Any) -> str:
        """The name of a node's table on the branch, as SQL writes it."""
        return self.Relation.create(
            schema=self._schema(branch, node), identifier=str(node.alias)
        ).render()

    def _there_on(self, branch: Branch, node: Any) -> str:
        """`_on_branch`; raises ValueError where that table is not there."""
        ours = self._on_branch(branch, node)
        if self._version(ours) is None:
            raise ValueError(
                f"{node.name}: the branch {branch.name} has no table {ours}; accepted: a model"
                " that it was made with"
            )
        return ours

    def _mergeable(self, node: Any) -> list[str]:
        if published_models.is_published(node):
            candidate = published_models.candidate_of(node, self.nodes)
            raise ValueError(
                f"{node.name} is published, and holds no rows of its own; accepted:"
                f" {candidate.name}, and a build that publishes it"
            )
        key = key_of(node, self.nodes)
        if not key:
            raise ValueError(
                f"{node.name} has no unique_key, by which rows are merged; accepted: a model with"
                " one"
            )
        return list(key)


def key_of(node: Any, nodes: Mapping[str, Any]) -> Sequence[str]:
    """The columns that identify a row of a model; none where it does not say."""
    if published_models.is_published(node):
        node = published_models.candidate_of(node, nodes)
    key = node.config.get("unique_key") or ()
    return [bare(name) for name in ([key] if isinstance(key, str) else key)]


def _schema(branch: Branch, node: Any) -> str | None:
    """The schema of a node's table on a branch; None where dbt's own rule did not name it.

    By that rule it is the target's, or that and the node's own. A schema that only begins like the
    target's may be one that all targets build in.
    """
    names = {branch.of: branch.schema}
    if own := str(node.config.get("schema") or "").strip():
        names[f"{branch.of}_{own}"] = f"{branch.schema}_{own}"
    return names.get(str(node.schema))


def _refused(node: Any) -> str:
    kind = node.config.materialized
    then = "a build on the branch makes it"
    if kind == "streaming_table":
        then = (
            "what it has read is noted beside its own table. Leave it out: with `--defer --state`"
            " builds on the branch read the target's"
        )
    return f"{node.name} is materialized as {kind}: {then}; accepted: {', '.join(_TABLES)}"
