"""Undoing batches: a model's table goes back, and what readers see of it."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.base import available
from dbt_common.exceptions import DbtRuntimeError

from alluvium.merge import progress, skipped
from alluvium.plan.versions import undo
from alluvium.versions import restore
from alluvium.versions.restore import Restored, Shown, Subject
from alluvium.wording import counted
from dbt.adapters.alluvium import audit
from dbt.adapters.alluvium.relation import keeps_tombstones
from dbt.adapters.alluvium.verbs.publishing import Publishing

_COMES_BACK = {
    undo.BATCH: "the next build reads its events again",
    undo.COMPACTION: "no row changes",
}


class Restoring(Publishing):
    @available.parse_list
    def restore(
        self,
        unique_id: str,
        version: int | None,
        before_batch: int | None,
        batch: int | None,
        including: Sequence[str],
        skip: bool | None,
        dry_run: bool,
    ) -> list[str]:
        """Undo what came after a version of a model's table; the lines that say so.

        A published model stands for its candidate. With `batch` alone nothing is undone: its events
        are left out for good from now on, or no longer. See `versions.restore`.

        Raises:
            DbtRuntimeError: It cannot be done; nothing was changed.
        """
        node = self.nodes[unique_id]
        if audit.is_published(node):
            node = audit.candidate_of(node, self.nodes)
        if node.config.materialized == "streaming_table":
            raise DbtRuntimeError(
                f"alluvium.restore: {node.name} is a streaming table. Its checkpoint does not go"
                " back, so what it undid would never come again. Accepted: the model that merges"
                " its events"
            )
        subject = Subject(self.table_of(node), node.unique_id, node.name)
        with self._working(f"alluvium.restore: {node.name}") as session:
            self._check_built(subject.table)
            if batch is not None:
                changed = restore.mark(session, subject, batch, bool(skip), dry_run)
                lines = [_marked(node.name, batch, bool(skip), changed, dry_run)]
                merged = progress.read(session, subject.table, subject.model)
                if changed and not skip and merged is not None and merged >= batch:
                    lines.append(_backfill(node.name, batch))
                return lines
            done = restore.restore(
                session,
                subject,
                [
                    Shown(self.table_of(one), one.name, keeps_tombstones(node))
                    for one, candidate in audit.candidates(self.nodes)
                    if candidate.unique_id == node.unique_id
                ],
                version=version,
                before_batch=before_batch,
                including=including,
                skip=skip,
                dry_run=dry_run,
            )
        return _lines(node.name, done, bool(skip), dry_run)

    @available.parse_list
    def skipped_batches(self, table: str, model_id: str) -> list[int]:
        """The batches of events that a model leaves out for good."""
        with self._working() as session:
            return skipped.batches(session, table, model_id)


def _lines(name: str, done: Restored, skip: bool, dry_run: bool) -> list[str]:
    would = "would go" if dry_run else "goes"
    files = f"{counted(done.files_added, 'file')} back, {done.files_removed:,} out"
    if done.undone or done.files_added or done.files_removed:
        made = f", in version {done.version:,}" if done.version is not None else ""
        lines = [f"{name}: {would} back to version {done.then:,}{made}: {files}"]
    else:
        lines = [f"{name}: shows version {done.then:,} already, nothing to undo"]
    stay_out = {str(batch) for batch in done.skips} if skip else set()
    for one in done.undone:
        then = None if one.about in stay_out else _COMES_BACK.get(one.kind)
        lines.append(f"  undoes {one}" + (f": {then}" if then else ""))
    lines += [f"  {_marked(name, batch, skip, True, dry_run)}" for batch in done.skips]
    for shown, is_held in done.moved:
        held = "; a checkout holds it there" if is_held else ""
        lines.append(f"  {shown.name}: {'would show' if dry_run else 'shows'} that too{held}")
    return lines


def _backfill(name: str, batch: int) -> str:
    """What brings in a batch that builds have passed over."""
    through = f"{{from_batch: {batch}, through_batch: {batch}}}"
    return (
        "  builds have passed it; a backfill brings it in: dbt build --vars"
        f" '{{alluvium_backfill: {{{name}: {through}}}}}'"
    )


def _marked(name: str, batch: int, skip: bool, changed: bool, dry_run: bool) -> str:
    if not changed:
        return f"{name}: batch {batch} is {'' if skip else 'not '}left out already"
    if skip:
        return f"{name}: batch {batch} {'would be' if dry_run else 'is'} left out for good"
    return f"{name}: batch {batch} {'would no longer stay' if dry_run else 'no longer stays'} out"
