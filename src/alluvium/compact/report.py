"""What a plan and a run say on the console."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby

from alluvium.compact.index import IndexDone
from alluvium.compact.outcome import Compacted
from alluvium.plan.compaction.bucket import MergeTask
from alluvium.plan.compaction.compaction_plan import CompactionPlan
from alluvium.wording import counted, in_bytes, moment

# Merges of one bucket and reason that are listed one by one.
_LISTED = 5
# The last second of the year 9999.
_LAST = 253402300799


def plan_lines(
    model: str, plan: CompactionPlan, fragments: int, open_until: Sequence[float] = ()
) -> Iterator[str]:
    """A table of the plan: bucket, reason, inputs, bytes and expected outputs. Below it stands
    when open buckets will get their final form.

    open_until: when each open bucket becomes quiet, as `quiet_from` says; the earliest first.
    """
    if not plan:
        later = f"; {counted(plan.waiting, 'merge')} over the budget" if plan.waiting else ""
        yield f"{model}: nothing to compact, {counted(fragments, 'fragment')}{later}"
        yield from _final_form(open_until)
        return
    rows: list[tuple[str, ...]] = [
        ("bucket", "reason", "level", "inputs", "MiB", "rows", "outputs")
    ]
    for _, same in groupby(plan.tasks, lambda one: (one.bucket, one.reason, one.level)):
        tasks = list(same)
        rows += [_row(one) for one in tasks[:_LISTED]]
        if len(tasks) > _LISTED:
            rows.append(("", f"… {len(tasks) - _LISTED} more", "", "", "", "", ""))
    rows += [
        (one.bucket or "-", "relabel", str(one.level), f"{len(one.inputs):,}", "0.0", "", "")
        for one in plan.relabels
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    yield f"{model}: would compact (dry run), {counted(fragments, 'fragment')}"
    for row in rows:
        named = [text.ljust(width) for text, width in zip(row[:2], widths[:2], strict=True)]
        numbers = [text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True)]
        yield "  " + "  ".join(named + numbers).rstrip()
    moved = sum(len(one.inputs) for one in plan.relabels)
    yield (
        f"  {counted(len(plan.tasks), 'merge')} of"
        f" {counted(sum(len(one.inputs) for one in plan.tasks), 'fragment')},"
        f" {in_bytes(plan.bytes)} to read, {counted(moved, 'new label')}"
        + (f", {counted(plan.waiting, 'merge')} over the budget" if plan.waiting else "")
    )
    yield from _final_form(open_until)


def done_line(model: str, done: Compacted) -> str:
    """One line for what a run did; empty where there was nothing to do."""
    waiting = f", {counted(done.waiting, 'merge')} over the budget" if done.waiting else ""
    if not (done.merges or done.relabelled or done.conflicts):
        return f"{model}: nothing compacted{waiting}" if waiting else ""
    parts = [f"{counted(done.inputs, 'fragment')} → {done.outputs:,}"] if done.merges else []
    if done.relabelled:
        parts.append(counted(done.relabelled, "new label"))
    if done.conflicts:
        parts.append(f"{counted(done.conflicts, 'conflict')} with other writers")
    size = f" ({in_bytes(done.bytes_read)})" if done.merges else ""
    return f"{model}: compacted {', '.join(parts)}{size}{waiting} in {done.seconds:.1f} s"


def index_line(model: str, done: IndexDone, dry_run: bool) -> str:
    """One line for what a run of `add_indexes` did, or would do; empty where every file has one."""
    if not done.columns:
        return f"{model}: no column can have an index"
    of = f"by {', '.join(done.columns)}"
    if dry_run:
        return f"{model}: would index {counted(done.files, 'file')} {of}"
    if not (done.files or done.left or done.later):
        return ""
    conflicts = f", {counted(done.conflicts, 'conflict')} with other writers" * bool(done.conflicts)
    left = f", {counted(done.left, 'file')} left for the next run" * bool(done.left)
    later = f", {counted(done.later, 'new file')} for the next run" * bool(done.later)
    return (
        f"{model}: indexed {counted(done.files, 'file')} {of} ({done.bytes / 1024:,.1f} KiB)"
        f"{conflicts}{left}{later} in {done.seconds:.1f} s"
    )


def _final_form(open_until: Sequence[float]) -> Iterator[str]:
    if not open_until:
        return
    first = open_until[0]
    if first == float("inf"):
        yield "  no final form: the layout has neither bucket_by nor quiet_after"
        return
    are = f"{counted(len(open_until), 'bucket')} {'is' if len(open_until) == 1 else 'are'} open"
    # A bucket may end in a year that a datetime does not reach.
    until = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=min(first, _LAST))
    yield f"  {are}; the next final form is due at {moment(until)}, if no row comes before"


def _row(task: MergeTask) -> tuple[str, ...]:
    return (
        task.bucket or "-",
        task.reason,
        str(task.level),
        f"{len(task.inputs):,}",
        f"{task.bytes / 2**20:,.1f}",
        f"{task.rows:,}",
        f"{task.outputs:,}",
    )
