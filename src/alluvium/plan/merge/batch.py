"""Whether a batch can be merged, has something to merge, and how its ranges are found.

Stock targets decide the same in macros/_stock/merge_plan.sql.
"""

from __future__ import annotations

from collections.abc import Sequence

from alluvium.plan.merge.outline import MergeSettings, Outline
from alluvium.plan.merge.profile import BatchProfile
from alluvium.plan.ranges.row import RangeRow
from alluvium.wording import counted

_TOGETHER = "Run the model that stages the batch again, together with this one."


def start_mistake(after: int | None, progress: int) -> str | None:
    """Why a batch cannot begin where the table's progress ends: events lie between the two."""
    if after is None or after <= progress:
        return None
    held = "none yet" if progress < 0 else f"those up to {progress} only"
    return (
        f"the staged batch starts after event batch {after}, but the table holds {held}."
        f" {_TOGETHER}"
    )


def batch_mistake(settings: MergeSettings, profile: BatchProfile, progress: int) -> str | None:
    """Why the events cannot be merged.

    progress: the newest event batch that the table holds, -1 for none.
    """
    if (
        not settings.order_by
        and settings.on_match == "update"
        and profile.events > profile.key_count
    ):
        return (
            f"{profile.events} events for {profile.key_count} keys, and nothing says which is the"
            " newest. Set order_by in meta.alluvium_merge."
        )
    mistake = start_mistake(profile.after, progress) if profile.events else None
    if mistake:
        return mistake
    inserts = profile.null_keys and settings.null_keys == "insert"
    if inserts and profile.after is not None and profile.after < progress:
        return (
            f"the staged batch starts after event batch {profile.after}, but the table holds those"
            f" up to {progress}. With null_keys: insert it would add events without a key once"
            f" more. {_TOGETHER}"
        )
    return None


def order_warning(outline: Outline, profile: BatchProfile) -> str | None:
    """Says that events are told apart by more than the table can store of them."""
    if not profile.blurred:
        return None
    columns = ", ".join(
        f"{column} is {outline.source_types[column.lower()]} in the batch"
        f" and {outline.types[column.lower()]} in the table"
        for column in outline.settings.stored_order
    )
    return (
        f"order_by: {columns}, which stores the order of {counted(profile.blurred, 'event')}"
        " otherwise. A later event that is stored with the same order changes nothing."
        " Give the table the type of the batch."
    )


def rejected_warning(rejected: int, table: str | None) -> str:
    """Says that a batch with events brought none that may be merged."""
    return (
        f"the batch holds no event that may be merged: {counted(rejected, 'event')} rejected and"
        f" kept in {table}, whose column reason says why"
    )


def range_choice(
    settings: MergeSettings,
    profile: BatchProfile,
    planned: Sequence[RangeRow],
    is_new: bool,
) -> str:
    """Where the ranges come from: `planned`, `gaps` (SQL finds them), `min_max` (the bounds of the
    profile) or `none`.

    planned: rows of ranges; one without bounds says that every range would cost more than it saves.
    """
    priced_out = planned and all(row.get("lo") is None for row in planned)
    if settings.ranges is None or profile.bounds.get("lo") is None or priced_out:
        return "none"
    if planned:
        return "min_max" if profile.outside else "planned"
    if is_new or settings.ranges.method in ("none", "min_max"):
        return "min_max"
    return "gaps"


def outside_warning(settings: MergeSettings, profile: BatchProfile) -> str:
    """Says that planned ranges do not hold every event."""
    planner = (settings.ranges and settings.ranges.model) or "the merge"
    return (
        f"{profile.outside} events lie outside the planned ranges of {planner}, which belong to"
        " another batch: using min_max"
    )


def is_pending(profile: BatchProfile, progress: int) -> bool:
    """Whether the batch holds what the table has not merged."""
    is_further = profile.through is not None and profile.through > progress
    if profile.events and (profile.through is None or is_further):
        return True
    return is_further and profile.null_keys + profile.rejects > 0


def verify_mistake(settings: MergeSettings, missed: int, example: str | None) -> str | None:
    """Why a merge with `verify: true` stops. missed: rows of the table that it would not see."""
    if not missed:
        return None
    lie = "lie" if missed != 1 else "lies"
    return (
        f"{counted(missed, 'row')} of the table whose key is in the batch {lie} outside its ranges,"
        f" for example {example}. {', '.join(settings.immutable)}: not immutable for its key, so"
        " nothing was merged. Accepted: columns that never change, `ranges: false` without"
        " `verify`, or on an alluvium target `verify: reject`: it keeps such events aside and"
        " merges the others."
    )
