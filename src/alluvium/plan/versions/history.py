"""What commits of a table did, in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
    before = [one.version for one in commits if one.takes_no_block]
    is_before = pc.is_in(actions["version"], pa.array(before, pa.int64()))
    actions = actions.filter(pc.invert(is_before))
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
    """A commit in one line: its `parts`."""
    return "  ".join(parts(model, one, pointers))


def parts(model: str, one: Told, pointers: Mapping[int, Sequence[str]]) -> list[str]:
    """What a line says of a commit: version with what points to it, time, operation, what it did.

    model: the name of the table's.
    pointers: by version, what points to it.
    """
    commit = one.commit
    pointed = ", ".join(pointers.get(commit.version, ()))
    said = [
        f"{commit.version}" + (f" ({pointed})" if pointed else ""),
        moment(commit.at) if commit.at else "time unknown",
        commit.operation or "operation unknown",
    ]
    feed, batch = batch_of(model, commit)
    if commit.restored is not None:
        said.append(f"back to version {commit.restored}")
    elif feed is not None:
        said.append(f"batch {batch} of {feed}")
    said += skips_of(commit)
    if (shown := published_of(commit)) is not None:
        # A checkout or a restore does not say whose.
        candidate = shown.get("candidate", "its candidate").split(".", 2)[-1]
        said.append(f"shows version {shown['version']} of {candidate}")
        if (merged := shown.get("batch")) is not None:
            said.append(f"batch {merged}")
    if one.rows:
        said.append(one.rows)
    if commit.author:
        said.append(f"by {commit.author}")
    return said


def pointers(
    newest: int | None,
    shown: Mapping[str, int],
    branches: Mapping[str, int],
    tags: Mapping[str, int],
) -> dict[int, list[str]]:
    """What points to versions of a table: HEAD, which readers see, then branches and tags.

    Args:
        newest: version of the table, which is HEAD where no published table shows it.
        shown: by the name of each published table that shows it, the version.
        branches, tags: by name, versions.
    """
    found: dict[int, list[str]] = {}
    named = [(f"HEAD of {name}", version) for name, version in shown.items()]
    if not named and newest is not None:
        named.append(("HEAD", newest))
    for kind, refs in (("branch", branches), ("tag", tags)):
        named += [(f"{kind} {name}", version) for name, version in sorted(refs.items())]
    for name, version in named:
        found.setdefault(version, []).append(name)
    return found


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
