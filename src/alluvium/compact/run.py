"""Compaction of a table: plan on the log, rewrite in Spark, commit, until nothing is left to do."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium import marks
from alluvium.compact.conflicts import none_on_conflict
from alluvium.compact.outcome import Compacted, Failures, MergeError, named
from alluvium.compact.state import look
from alluvium.compact.written_merge import WrittenMerge, commit_metadata, file_tag, first_paths
from alluvium.delta.log import backoffs
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.engine.causes import is_cancelled, reason
from alluvium.engine.core_seconds import measured
from alluvium.plan.compaction import backoff, tags
from alluvium.plan.compaction.bucket import MergeTask
from alluvium.plan.compaction.compaction_plan import CompactionPlan, plan, quiet_from
from alluvium.plan.compaction.jobs import Job, jobs
from alluvium.plan.layout.settings import ZORDER, Layout
from alluvium.wording import counted, in_bytes

# Plans that one run carries out at most. A merge may make others due. Where another writer's commit
# was faster than a merge, that is planned again.
_ROUNDS = 20
_AUTO_COMPACTION = (
    "Delta's auto compaction is on for this table or this session. It knows nothing of the layout:"
    " what it merges is sorted again and again. Turn it off: false for the setting"
    " spark.databricks.delta.autoCompact.enabled, which goes before the table's properties"
)
_log = logging.getLogger(__name__)


def preview(
    session: SparkSession, table: str, layout: Layout, model: str, *, now: float | None = None
) -> tuple[CompactionPlan, pa.Table, list[float]]:
    """The plan for the table as it is, its fragments, and when its open buckets become quiet.
    Changes nothing.

    Raises:
        LayoutError: the table cannot have this layout.
    """
    _, layout, fragments = look(session, table, layout, model, rewrites=True)
    now = time.time() if now is None else now
    return plan(fragments, layout, now), fragments, quiet_from(fragments, layout, now)


def compact(
    session: SparkSession,
    table: str,
    layout: Layout,
    model: str,
    *,
    clock: Callable[[], float] = time.time,
    say: Callable[[str], None] = _log.info,
    may_back_off: bool = False,
) -> Compacted:
    """Merge and relabel fragments until the layout asks for no more, or the budget is used up.

    Readers and appends are never disturbed, and no row changes. Killed at any point, the table
    is as after one of the commits; files without a commit are left for VACUUM.

    Args:
        table: the table's name, as SQL writes it.
        model: what it is called in messages and in the commits' metadata.
        clock: seconds since 1970.
        say: takes a line of progress.
        may_back_off: whether to leave the table alone as long as an earlier look has found that
            nothing will be due. It also notes in its log for how long this one has; see
            `compaction_backoff`.

    Raises:
        LayoutError: the table cannot have this layout.
        MergeError: merges failed, or something stopped the run behind some; what the others did is
            committed, and in the error.
    """
    if may_back_off and backoffs.is_backing_off(session, table, layout, clock()):
        return Compacted()
    run = _Run(session, table, layout, model, clock, say, may_back_off)
    return run.execute()


@dataclass
class _Run:
    """One run of `compact`, whose arguments these are, and what it has done so far."""

    session: SparkSession
    table: str
    layout: Layout
    model: str
    clock: Callable[[], float]
    say: Callable[[str], None]
    may_back_off: bool = False
    done: Compacted = field(default_factory=Compacted)
    failures: Failures = field(default_factory=Failures)

    def execute(self) -> Compacted:
        started = time.monotonic()
        try:
            rounds = 0
            while rounds < _ROUNDS and not self.failures.are_hopeless:
                failed = len(self.failures.found)
                if not self._round(first=not (rounds or failed)):
                    break
                # What is beside a merge that failed is planned again, whatever the number of these.
                rounds += len(self.failures.found) == failed
        except Exception as error:
            nothing = not (self.failures or self.done.merges or self.done.relabelled)
            if nothing or is_cancelled(self.session, error):
                raise
            self._has_done(seconds=time.monotonic() - started)
            raise MergeError(self.failures.text(self.model, reason(error)), self.done) from error
        self._has_done(seconds=time.monotonic() - started)
        if self.failures:
            raise MergeError(self.failures.text(self.model), self.done)
        return self.done

    def _round(self, first: bool) -> bool:
        """Carry out one plan; False where there was nothing to do."""
        model = self.model
        files, layout, fragments = look(self.session, self.table, self.layout, model, rewrites=True)
        # A merge that fails takes nothing of the budget: it would in every run.
        spent = self.done.bytes_read + self.done.bytes_given_up
        if layout.budget is not None and spent >= layout.budget:
            return False
        planned = plan(fragments, layout, self.clock(), spent, self.failures.stuck)
        self._has_done(waiting=planned.waiting)
        if not planned:
            if self.may_back_off and not (planned.waiting or self.failures):
                self._back_off(files.version, layout, fragments)
            return False
        rewriter = Rewriter(files)
        if first and rewriter.is_compacted_by_writers():
            self.say(f"{model}: {_AUTO_COMPACTION}")
        if planned.tasks and layout.curve == ZORDER and layout.cuts is None:
            paths = [path for task in planned.tasks for path in task.inputs]
            none_on_conflict(model, partial(rewriter.make_cuts, layout.sort_by, paths))
        elif self._relabel(rewriter, planned, fragments):
            self._merge(rewriter, planned, layout)
        return True

    def _back_off(self, version: int, layout: Layout, fragments: pa.Table) -> None:
        """Note how long nothing will be due, where later runs save more by it than that costs."""
        if fragments.num_rows >= backoff.WORTH:
            found = backoff.compaction_backoff(fragments, layout, self.clock())
            if found is not None:
                try:
                    backoffs.keep(self.session, self.table, self.layout, version, found)
                except Exception as error:
                    # Without it the next run looks as well.
                    if is_cancelled(self.session, error):
                        raise
                    _log.info("%s: no backoff was noted: %s", self.model, reason(error))

    def _relabel(self, rewriter: Rewriter, planned: CompactionPlan, fragments: pa.Table) -> bool:
        """Give fragments new levels; False if another writer was faster."""
        if not planned.relabels:
            return True
        old = dict(zip(fragments["path"].to_pylist(), fragments["tag"].to_pylist(), strict=True))
        labels = {
            path: {marks.LAYOUT_TAG: tags.to_text(json.loads(old[path]) | {"level": relabel.level})}
            for relabel in planned.relabels
            for path in relabel.inputs
        }
        figures = {"model": self.model, "reason": "relabel", "relabelled": len(labels)}
        commit = partial(rewriter.commits.relabel, labels, commit_metadata([figures]))
        if none_on_conflict(self.model, commit) is None:
            # The merges may rest on it that these fragments have left their level.
            self._has_done(conflicts=self.done.conflicts + 1)
            return False
        self._has_done(relabelled=self.done.relabelled + len(labels))
        return True

    def _merge(self, rewriter: Rewriter, planned: CompactionPlan, layout: Layout) -> None:
        """Write and commit the merges of a plan, until another writer is faster."""
        ahead = len(planned.tasks)
        together: list[WrittenMerge] = []
        cores = self.session.sparkContext.defaultParallelism
        due = deque(jobs(planned.tasks, layout, cores))
        while due and not self.failures.are_hopeless:
            job = due.popleft()
            tasks = job.tasks
            count = sum(len(task.inputs) for task in tasks)
            size = in_bytes(sum(task.bytes for task in tasks))
            self.say(
                f"{self.model}: merging {counted(count, 'fragment')} ({size}),"
                f" {counted(ahead, 'merge')} ahead"
            )
            try:
                written = self._write(rewriter, job, layout)
            except Exception as error:
                if not layout.partial_progress or is_cancelled(self.session, error):
                    raise
                # One fragment that cannot be read must not stop the merges of all others.
                why = reason(error)
                if len(tasks) > 1:
                    due.extendleft(reversed(job.parts(named(tasks, why))))
                else:
                    self.failures.add(tasks[0], why)
                    ahead -= 1
                    if self.failures.should_try_elsewhere:
                        due.rotate(-(len(due) // 2))
                continue
            if written is None:
                self._count_conflicts([*(merge.task for merge in together), *tasks])
                return
            self.failures.reset_streak()
            if layout.partial_progress:
                for merge in written:
                    self._commit(rewriter, [merge], layout)
            else:
                together += written
            ahead -= len(tasks)
        if together:
            self._commit(rewriter, together, layout)

    def _write(self, rewriter: Rewriter, job: Job, layout: Layout) -> list[WrittenMerge] | None:
        """The merges of a job, written; None if another writer was faster."""
        write = partial(
            rewriter.write,
            [task.inputs for task in job.tasks],
            layout,
            job.rows_per_file,
            job.spark_tasks,
        )
        with measured(self.session) as spent:
            written = none_on_conflict(self.model, write)
        if written is None:
            return None
        size = sum(task.bytes for task in job.tasks)
        merges = []
        for task, made in zip(job.tasks, written, strict=True):
            # The tasks of a job share its cores: what each merge cost goes by its bytes.
            share = task.bytes / size if size else 1 / len(job.tasks)
            cost = (
                None if seconds is None else round(seconds * share, 3)
                for seconds in (spent.seconds, spent.cpu_seconds)
            )
            merges.append(WrittenMerge(task, made, *cost))
        return merges

    def _commit(self, rewriter: Rewriter, merges: Sequence[WrittenMerge], layout: Layout) -> None:
        """One commit of the merges, or none of them."""
        inputs = [path for merge in merges for path in merge.task.inputs]
        outputs = [
            (one, {marks.LAYOUT_TAG: file_tag(merge, one, layout).text()})
            for merge in merges
            for one in merge.made.files
        ]
        metadata = commit_metadata([merge.figures(self.model) for merge in merges])
        tasks = [merge.task for merge in merges]
        commit = partial(rewriter.commits.commit, inputs, outputs, metadata)
        version = None
        try:
            version = none_on_conflict(self.model, commit)
        finally:
            if version is None:
                # Not deleted: a storage may say that a commit failed that is there.
                self.say(f"{self.model}: left for VACUUM: {first_paths(merges)}")
        if version is None:
            self._count_conflicts(tasks)
            return
        done = self.done
        self._has_done(
            merges=done.merges + len(merges),
            inputs=done.inputs + len(inputs),
            outputs=done.outputs + len(outputs),
            bytes_read=done.bytes_read + sum(task.bytes for task in tasks),
            bytes_written=done.bytes_written + sum(merge.bytes for merge in merges),
            rows=done.rows + sum(merge.rows for merge in merges),
        )

    def _count_conflicts(self, tasks: Sequence[MergeTask]) -> None:
        size = sum(task.bytes for task in tasks)
        self._has_done(
            conflicts=self.done.conflicts + len(tasks),
            bytes_given_up=self.done.bytes_given_up + size,
        )

    def _has_done(self, **figures: Any) -> None:
        self.done = replace(self.done, **figures)
