"""What commits of a table did, in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from alluvium.plan.versions.batches import batch_of, deletes_of, published_of, skips_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.snapshots import SIZES, follow, live_before
from alluvium.wording import counted, moment

_CAME, _CHANGED, _WENT = "+", "~", "-"


@dataclass(frozen=True)
class Told:
    """A commit, the rows that it brought and took, and what it did to blocks.

    deletes: of the rows that it brought, those that are tombstones: `deletes_of`.
    """

    commit: Commit
    rows_added: int | None
    rows_removed: int | None
    blocks: list[dict[str, Any]]
    deletes: tuple[int, bool]

    @property
    def rows(self) -> str:
        """What became of rows; empty for nothing."""
        deletes, is_exact = self.deletes
        came = self.rows_added
        if came is not None and is_exact:
            came = max(came - deletes, 0)
        added, removed = ("?" if one is None else f"{one:,}" for one in (came, self.rows_removed))
        if not deletes:
            return "" if (added, removed) == ("0", "0") else f"+{added} -{removed} rows"
        said = f"+{added} -{removed} rows, {'' if is_exact else 'of them up to '}"
        return said + counted(deletes, "delete")


def told(commits: Sequence[Commit], actions: pa.Table, keeps_tombstones: bool) -> list[Told]:
    """Some commits in order; from their own files alone.

    Args:
        actions: of them on data files, columns as `snapshots.ACTIONS`.
        keeps_tombstones: whether the table keeps deleted rows as tombstones.
    """
    versions = [one.version for one in commits]
    changes, totals = follow(live_before(actions), versions, actions, SIZES.empty_table())
    blocks: dict[int, list[dict[str, Any]]] = {}
    for block in changes.to_pylist():
        blocks.setdefault(block["version"], []).append(block)
    return [
        Told(
            commit,
            commit.without_copies(sums["rows_added"]),
            commit.without_copies(sums["rows_removed"]),
            blocks.get(commit.version, []),
            deletes_of(commit) if keeps_tombstones else (0, True),
        )
        for commit, sums in zip(commits, totals.to_pylist(), strict=True)
    ]


def line(model: str, one: Told, pointers: Mapping[int, Sequence[str]]) -> str:
    """A commit in one line.

    model: the name of the table's.
    pointers: by version, what points to it.
    """
    commit = one.commit
    pointed = ", ".join(pointers.get(commit.version, ()))
    parts = [
        f"{commit.version}" + (f" ({pointed})" if pointed else ""),
        moment(commit.at) if commit.at else "time unknown",
        commit.operation or "operation unknown",
    ]
    feed, batch = batch_of(model, commit)
    if commit.restored is not None:
        parts.append(f"back to version {commit.restored}")
    elif feed is not None:
        parts.append(f"batch {batch} of {feed}")
    parts += skips_of(commit)
    if (shown := published_of(commit)) is not None:
        # A checkout or a restore does not say whose.
        candidate = shown.get("candidate", "its candidate").split(".", 2)[-1]
        parts.append(f"shows version {shown['version']} of {candidate}")
        if (merged := shown.get("batch")) is not None:
            parts.append(f"batch {merged}")
    if one.rows:
        parts.append(one.rows)
    if commit.author:
        parts.append(f"by {commit.author}")
    return "  ".join(parts)


def message(commit: Commit, in_full: bool = False) -> Iterator[str]:
    """A person's text; figures of ours only in full."""
    if commit.message and (in_full or not _is_figures(commit.message)):
        yield from (f"    {line}" for line in commit.message.splitlines())


def _is_figures(message: str) -> bool:
    try:
        return isinstance(json.loads(message), dict)
    except ValueError:
        return False


def block_line(block: Mapping[str, Any]) -> str:
    """What a commit did to a file, a row of `snapshots.CHANGES`."""
    sign = {1: _CAME, 0: _CHANGED, -1: _WENT}[block["blocks"]]
    return f"  {sign} {block['path']}{_of_block(block)}"


def _of_block(block: Mapping[str, Any]) -> str:
    rows, size = block["row_count"], abs(block["bytes"])
    if block["blocks"] == 0 and not rows:
        return ": same rows, new label"
    said = "rows unknown" if rows is None else f"{rows:+,} rows"
    return f": {said}" + (f", {size:,} bytes" if size else "")
