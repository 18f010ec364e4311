"""A merge whose files are written: their tags, and what its commit says of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from alluvium import marks
from alluvium.delta.rewrite.layout_commits import WrittenFile
from alluvium.delta.rewrite.rewrite import Rewritten
from alluvium.plan.compaction.bucket import MergeTask
from alluvium.plan.compaction.tags import Tag
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout
from alluvium.wording import listed

# Files without a commit that are named.
_NAMED = 20


@dataclass(frozen=True)
class WrittenMerge:
    """A merge whose files are written, and not yet committed.

    core_seconds, cpu_seconds: that it took; None where Spark does not say.
    """

    task: MergeTask
    made: Rewritten
    core_seconds: float | None
    cpu_seconds: float | None

    @property
    def bytes(self) -> int:
        """Of the new files."""
        return sum(one.bytes for one in self.made.files)

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.made.files)

    def figures(self, model: str) -> dict[str, object]:
        return {
            "model": model,
            "bucket": self.task.bucket,
            "reason": self.task.reason,
            "level": self.task.level,
            "inputs": len(self.task.inputs),
            "outputs": len(self.made.files),
            "outputs_planned": self.task.outputs,
            "rows": self.rows,
            "bytes_read": self.task.bytes,
            "bytes_written": self.bytes,
            "files_opened": self.made.opened,
            "files_written": self.made.written,
            "core_seconds": self.core_seconds,
            "cpu_seconds": self.cpu_seconds,
        }


def file_tag(merge: WrittenMerge, one: WrittenFile, layout: Layout) -> Tag:
    task, share = merge.task, one.rows / merge.rows
    return Tag(
        row_key=layout.sort_key,
        level=task.level,
        lo=sort_key.encode(_row(one.keys, 0))[0],
        hi=sort_key.encode(_row(one.keys, 1))[0],
        arrived=task.arrived,
        tier_bytes=round(task.tier_bytes * share),
        locality_bytes=round(task.locality_bytes * share),
    )


def _row(keys: pa.Table, place: int) -> list[pa.Array]:
    return [column.combine_chunks().slice(place, 1) for column in keys.columns]


def commit_metadata(figures: Sequence[dict[str, object]]) -> str:
    """What `history` reads."""
    return json.dumps({marks.COMPACTION_FIGURES: figures}, sort_keys=True)


def first_paths(merges: Sequence[WrittenMerge]) -> str:
    """The first files that the merges wrote."""
    paths = [one.action.path() for merge in merges for one in merge.made.files]
    return listed(paths, _NAMED)
