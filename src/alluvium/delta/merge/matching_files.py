"""The candidate files of a merge that tags leave: see docs/decisions/0044."""

from __future__ import annotations

from alluvium.delta.handles import DeltaMergeCommand
from alluvium.engine import jvm
from alluvium.engine.handles import JavaFrame, JavaObject, JavaSeq
from alluvium.engine.internals import EXPRESSION_UTILS
from alluvium.plan.ranges.cost import COST

# Of more distinct values few files have none, and a tag takes milliseconds for each 1,000.
_MOST_VALUES = 1000


def left(
    copy: jvm.SessionCopy,
    command: DeltaMergeCommand,
    scanned: JavaObject,
    candidates: JavaSeq,
    rows: JavaFrame,
    small: bool,
) -> JavaSeq:
    """The candidates, less those whose automata have no key of the source.

    Where looking costs more than it can save nothing is looked at.

    Args:
        copy: the session that the merge runs in.
        command: Delta's command.
        scanned: schema of the version whose files the candidates are.
        candidates: AddFile actions.
        rows: of the source.
        small: whether one task should read them.
    """
    session = copy.session
    plans = (command.target(), command.source(), command.condition())
    found = jvm.call_own(
        session, "alluvium.PrunedMerge", "of", copy.spark, *plans, scanned, candidates
    )
    if found is None:
        return candidates
    sources = list(found.sources())
    saves = float(COST.reading(found.files(), found.bytes(), 0))
    if saves <= COST.planning * len(sources):
        return candidates
    columns = jvm.internal(session, EXPRESSION_UTILS)
    frame = rows.coalesce(1) if small else rows
    for place, source in enumerate(sources):
        column = frame.select(jvm.scala_seq(session, [columns.column(source)]))
        # As Spark has them: in Python some types lose what they are.
        plan = column.distinct().limit(_MOST_VALUES + 1).queryExecution().executedPlan()
        values = plan.executeCollect()
        if len(values) <= _MOST_VALUES:
            found.ask(place, values)
    kept: JavaSeq = found.kept(int(saves * 1e9))
    return kept
