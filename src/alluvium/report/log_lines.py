"""The history of a table in lines, newest first, as `git log` shows one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import log, refs
from alluvium.delta.commit_files import Commit, TableLog
from alluvium.delta.heads import shown_by
from alluvium.delta.states import TOMBSTONE
from alluvium.names import among
from alluvium.plan.versions.snapshots import SIZES, follow, live_before
from alluvium.report.batches import batch_of, deletes_of, published_of, skips_of
from alluvium.wording import counted, moment

# The most versions that are shown where nobody says how many.
LIMIT = 20
_HEAD = "HEAD"
_CAME, _CHANGED, _WENT = "+", "~", "-"


@dataclass(frozen=True)
class _Read:
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


def log_lines(
    table_log: TableLog,
    model: str,
    limit: int | None = None,
    since: datetime | None = None,
    pointers: Mapping[int, list[str]] | None = None,
) -> Iterator[str]:
    """A line for each version, and one more for a message.

    Args:
        model: the name of the table's.
        limit: the most versions; None for LIMIT, and for all of them where `since` is given.
        since: the earliest time of a commit.
        pointers: `names`.
    """
    most = limit if limit is not None or since is not None else LIMIT
    shown = 0
    for one in _newest_first(table_log, most):
        if since is not None and one.commit.at is not None and one.commit.at < since:
            break
        shown += 1
        yield _line(model, one, pointers or {})
        yield from _message(one.commit)
    if not shown:
        yield f"{model}: no version since {moment(since)}" if since else f"{model}: no version"
    elif table_log.version - shown >= table_log.first() and since is None:
        older = table_log.version - shown - table_log.first() + 1
        yield f"  … {counted(older, 'older version')}; limit: {shown + older} shows all"


def version_lines(
    table_log: TableLog,
    model: str,
    version: int,
    pointers: Mapping[int, list[str]] | None = None,
) -> Iterator[str]:
    """One version in full: what it says of itself, and the blocks that came, changed and went.

    pointers: `names`.

    Raises:
        ValueError: the table's log does not tell that version.
    """
    first = table_log.first()
    if not first <= version <= table_log.version:
        raise ValueError(
            f"show is {version}; accepted: the versions of {table_log.name} that its log tells,"
            f" {first} to {table_log.version}"
        )
    one = _read(table_log, version, version)[0]
    yield _line(model, one, pointers or {})
    yield f"  snapshot {one.commit.id}"
    yield from _message(one.commit, in_full=True)
    for block in one.blocks:
        sign = {1: _CAME, 0: _CHANGED, -1: _WENT}[block["blocks"]]
        yield f"  {sign} {block['path']}{_of_block(block)}"


def names(
    session: SparkSession, table_log: TableLog, published: Mapping[str, str]
) -> dict[int, list[str]]:
    """What points to versions of a table: HEAD, which readers see, then branches and tags.

    HEAD of a candidate is what its published tables show.

    published: by the name of its model, tables that may show this one.
    """
    found: dict[int, list[str]] = {}
    for name, target in published.items():
        shown = shown_by(session, target)
        if shown is not None and shown.table_id == table_log.table_id(table_log.version):
            found.setdefault(shown.version, []).append(f"{_HEAD} of {name}")
    found = found or {table_log.version: [_HEAD]}
    for branch in refs.branches(session, table_log.folder):
        found.setdefault(branch.version, []).append(f"branch {branch.name}")
    for tag in refs.tags(session, table_log.folder):
        found.setdefault(tag.version, []).append(f"tag {tag.name}")
    return found


def _newest_first(table_log: TableLog, most: int | None) -> Iterator[_Read]:
    for first, last in table_log.spans(most):
        yield from reversed(_read(table_log, first, last))


def _read(table_log: TableLog, first: int, last: int) -> list[_Read]:
    """Some commits in order; from their own files alone."""
    found = table_log.read(first, last)
    keeps_tombstones = among(TOMBSTONE, log.schema_of(table_log.snapshot).names)
    actions = found.actions
    versions = [one.version for one in found.commits]
    changes, totals = follow(live_before(actions), versions, actions, SIZES.empty_table())
    blocks: dict[int, list[dict[str, Any]]] = {}
    for block in changes.to_pylist():
        blocks.setdefault(block["version"], []).append(block)
    return [
        _Read(
            commit,
            commit.without_copies(sums["rows_added"]),
            commit.without_copies(sums["rows_removed"]),
            blocks.get(commit.version, []),
            deletes_of(commit) if keeps_tombstones else (0, True),
        )
        for commit, sums in zip(found.commits, totals.to_pylist(), strict=True)
    ]


def _line(model: str, one: _Read, pointers: Mapping[int, list[str]]) -> str:
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


def _message(commit: Commit, in_full: bool = False) -> Iterator[str]:
    """A person's text; figures of ours only in full."""
    if commit.message and (in_full or not _is_figures(commit.message)):
        yield from (f"    {line}" for line in commit.message.splitlines())


def _is_figures(message: str) -> bool:
    try:
        return isinstance(json.loads(message), dict)
    except ValueError:
        return False


def _of_block(block: Mapping[str, Any]) -> str:
    rows, size = block["row_count"], abs(block["bytes"])
    if block["blocks"] == 0 and not rows:
        return ": same rows, new label"
    said = "rows unknown" if rows is None else f"{rows:+,} rows"
    return f": {said}" + (f", {size:,} bytes" if size else "")


def parsed_moment(text: str) -> datetime:
    """A date, or a date and time, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
