"""Undoing batches: a model's table goes back, and what readers see of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dbt.adapters.base import available
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.ingest.events import PLACE
from alluvium.merge import progress
from alluvium.names import among, literal
from alluvium.plan import event_readers, published_models
from alluvium.plan.graph import ancestors, keeps_tombstones, name_of, streams_above
from alluvium.plan.planned import Planned
from alluvium.plan.versions import undo
from alluvium.plan.versions.left_out import Events
from alluvium.versions import branches, restore
from alluvium.versions.branches import Branch
from alluvium.versions.restore import Reader, Restored, Subject
from alluvium.wording import counted
from dbt.adapters.alluvium.verbs.progressing import Progressing
from dbt.adapters.alluvium.verbs.publishing import Publishing

_COMES_BACK = {
    undo.BATCH: "the next build reads its events again",
    undo.COMPACTION: "no row changes",
}


class Restoring(Publishing, Progressing):
    @available.parse_list
    def restore(
        self,
        unique_id: str,
        version: int | None,
        before_batch: int | None,
        batch: int | None,
        including: Sequence[str],
        skip: bool | None,
        files: Sequence[str],
        dry_run: bool,
    ) -> list[str]:
        """Undo what came after a version of a model's table; the lines that say so.

        A published model stands for its candidate. With `batch` alone nothing is undone: its events
        are left out for good from now on, or no longer. See `versions.restore`.

        Raises:
            DbtRuntimeError: It cannot be done; nothing was changed.
        """
        node = self.nodes[unique_id]
        if published_models.is_published(node):
            node = published_models.candidate_of(node, self.nodes)
        if node.config.materialized == "streaming_table":
            raise DbtRuntimeError(
                f"alluvium.restore: {node.name} is a streaming table. Its checkpoint does not go"
                " back, so what it undid would never come again. Accepted: the model that merges"
                " its events"
            )
        subject = Subject(self.table_of(node), node.unique_id, node.name)
        with self._working(f"alluvium.restore: {node.name}") as session:
            self._check_built(subject.table)
            state = log.state(session, subject.table)
            inherited = self.inherited(subject.table, state, subject.model)
            former, numbers = inherited.former, inherited.numbers
            planned = partial(self._planned, session, subject, None if dry_run else former)
            events = self._events_of(session, node, files, batch, before_batch, bool(skip))
            if batch is not None:
                mark = partial(restore.mark, session, subject, batch, bool(skip), events, numbers)
                changed = planned(mark).done(dry_run=dry_run)
                # A batch that comes in takes files with it that stayed out.
                told = events or changed or [(batch, None)]
                lines = [
                    _marked(node.name, one, bool(skip), one in changed, dry_run) for one in told
                ]
                merged = progress.read(session, subject.table, subject.model)
                if changed and not skip and merged is not None and merged >= batch:
                    lines.append(_backfill(node.name, batch))
                return lines
            plan = partial(
                restore.restore,
                session,
                subject,
                [
                    Reader(self.table_of(one), one.name, keeps_tombstones(node))
                    for one, candidate in published_models.candidates(self.nodes)
                    if candidate.unique_id == node.unique_id
                ],
                version=version,
                before_batch=before_batch,
                including=including,
                skip=skip,
                files=events,
                numbers=numbers,
                has_batch=partial(self._has_batch, session, node),
            )
            done = planned(plan).done(dry_run=dry_run)
        return _lines(node.name, done, bool(skip), dry_run)

    def _planned(
        self, session: SparkSession, subject: Subject, former: str | None, plan: Callable[[], Any]
    ) -> Planned[Any]:
        """A plan that is not refused; made once more where the model takes over another's place."""
        planned: Planned[Any] = plan()
        if former is not None:
            self._take_over(session, subject.table, former, subject.model)
            planned = plan()
        return planned

    def _events_of(
        self,
        session: SparkSession,
        node: Any,
        files: Sequence[str],
        batch: int | None,
        before_batch: int | None,
        skip: bool,
    ) -> list[Events]:
        """The events of these `_source_partition`s in a batch, or in one and all later ones.

        skip: whether they are to be left out, of what has to tell their place then.
        """
        if not files:
            return []
        condition = f"`_batch_id` {f'= {batch}' if batch is not None else f'>= {before_batch}'}"
        read_here = self._reads(session)
        streams = streams_above(node, self.node_of)
        macros = getattr(self._macro_resolver, "macros", {})
        readable = event_readers.read_for(node, self.nodes, macros) if skip else []
        for one in [*streams, *readable]:
            if without := self._without_place(session, one, read_here):
                raise DbtRuntimeError(
                    f"alluvium.restore: files: {one.name} has no column {PLACE[0]}, by which"
                    f" {node.name} would leave out a file's events. Accepted: a query of"
                    f" {' and of '.join(without)} that selects it, built; or no `files`, for a"
                    " whole batch. Nothing was changed"
                )
        names = ", ".join(literal(file) for file in files)
        tables = {one.name: read_here(one) for one in streams}
        found = {
            (row["_batch_id"], row["_source_partition"])
            for table in filter(None, tables.values())
            for row in session.sql(
                f"select distinct `_batch_id`, `_source_partition` from {table}"
                f" where {condition} and `_source_partition` in ({names})"
            ).collect()
        }
        if absent := set(files) - {file for _, file in found}:
            condition = f"of {', '.join(sorted(absent))} with {condition}"
            if unread := [name for name, table in tables.items() if table is None]:
                names = " and ".join(unread)
                raise DbtRuntimeError(
                    f"alluvium.restore: files: {names} is not built on this target, so nothing here"
                    f" tells the events {condition}. Accepted: no `files`, for a whole batch; or"
                    f" the target that builds {names}. Nothing was changed"
                )
            raise DbtRuntimeError(
                f"alluvium.restore: files: no streaming table that {node.name} is made from has"
                f" events {condition}. Accepted: names as in `_source_partition`. Nothing was"
                " changed"
            )
        return sorted(found)

    def _has_batch(self, session: SparkSession, node: Any, batch: int) -> bool:
        """Whether a streaming table that a node is made from has events of a batch."""
        tables = filter(None, map(self._reads(session), streams_above(node, self.node_of)))
        return any(
            not session.table(one).where(f"`_batch_id` = {batch}").isEmpty() for one in tables
        )

    def _without_place(
        self, session: SparkSession, node: Any, read_here: Callable[[Any], str | None]
    ) -> list[str]:
        """The names of a node and those it is made from whose rows have a batch and no place.

        Empty where the node's own have one, or nobody knows before a build.
        """

        def has_place(one: Any) -> bool | None:
            """Whether events tell their place; None where they have none, or nobody knows."""
            try:
                rows = event_readers.inlined(one, self.nodes, read_here)
                columns = session.sql(f"select * from {rows}").columns
            except (ValueError, PySparkException):
                return None
            return among(PLACE[0], columns) if among("_batch_id", columns) else None

        if has_place(node) is not False:
            return []
        above = map(self.node_of, sorted(ancestors(node.unique_id, self.node_of)))
        bare = [one for one in above if one and has_place(one) is False]
        return [name_of(one) for one in (node, *bare)]

    def _reads(self, session: SparkSession) -> Callable[[Any], str | None]:
        """`_read_here` for the branch that this target builds on, if it is one."""
        branch = branches.branch_of(session, str(self.config.credentials.schema))
        return partial(self._read_here, session, branch)

    def _read_here(self, session: SparkSession, branch: Branch | None, node: Any) -> str | None:
        """The table or view that builds on this target read of a node, as SQL names it.

        branch: that of the target. Where it has none of its own, that is the one beside it.
        """
        if node.config.materialized == "ephemeral":
            return None
        tables = [self.table_of(node)]
        if branch is not None:
            schema = branch.beside(str(node.schema))
            tables.append(self.Relation.create(schema=schema, identifier=node.alias).render())
        return next(filter(session.catalog.tableExists, tables), None)


def _lines(name: str, done: Restored, skip: bool, dry_run: bool) -> list[str]:
    would = "would go" if dry_run else "goes"
    files = f"{counted(done.files_added, 'file')} back, {done.files_removed:,} out"
    if done.undone or done.files_added or done.files_removed:
        made = f", in version {done.version:,}" if done.version is not None else ""
        lines = [f"{name}: {would} back to version {done.then:,}{made}: {files}"]
    else:
        lines = [f"{name}: shows version {done.then:,} already, nothing to undo"]
    stay_out = {str(batch) for batch, file in done.skips if file is None} if skip else set()
    for one in done.undone:
        then = None if one.about in stay_out else _COMES_BACK.get(one.kind)
        lines.append(f"  undoes {one}" + (f": {then}" if then else ""))
    lines += [f"  {_marked(name, events, skip, True, dry_run)}" for events in done.skips]
    for reader in done.readers:
        if reader.is_undone:
            held = "; a checkout holds it there" if reader.is_held else ""
            lines.append(f"  {reader.name}: {'would show' if dry_run else 'shows'} that too{held}")
        elif reader.is_undone is None and reader.head:
            lines.append(
                f"  {reader.name}: stays at version {reader.head.version:,} of {name}, for the log"
                " no longer tells whether that was undone; accepted: `alluvium.checkout` to another"
                " one"
            )
    return lines


def _backfill(name: str, batch: int) -> str:
    """What brings in a batch that builds have passed over."""
    through = f"{{from_batch: {batch}, through_batch: {batch}}}"
    return (
        "  builds have passed it; a backfill brings it in: dbt build --vars"
        f" '{{alluvium_backfill: {{{name}: {through}}}}}'"
    )


def _marked(name: str, events: Events, skip: bool, changed: bool, dry_run: bool) -> str:
    batch, file = events
    what = f"{name}: batch {batch}" if file is None else f"{name}: {file} of batch {batch}"
    if not changed:
        return f"{what} is {'' if skip else 'not '}left out already"
    if skip:
        return f"{what} {'would be' if dry_run else 'is'} left out for good"
    return f"{what} {'would no longer stay' if dry_run else 'no longer stays'} out"
