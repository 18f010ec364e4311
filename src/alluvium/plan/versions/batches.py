"""What commits brought: batches of events, and versions of candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from alluvium.marks import MERGE_FIGURES, MERGED_THROUGH, PUBLISH_NOTE, READ_FROM, SKIPPED
from alluvium.plan.versions.arrivals import stream_note
from alluvium.plan.versions.commit import OF_FILES, Commit


def read_from(model: str) -> str:
    """The `txn` application that says by `number_of` whose batches a table has of a model."""
    return f"{READ_FROM}{model}"


def number_of(bronze: str) -> int:
    """A number that stands for a table of events by its name: a `txn` holds numbers only."""
    return int(hashlib.sha256(bronze.lower().encode()).hexdigest()[:15], 16)


def app_id(model: str, table_id: str) -> str:
    """Application id of a model's merges into the table with this id."""
    return f"{MERGED_THROUGH}{model}/{table_id}"


def batch_of(model: str, commit: Commit) -> tuple[str | None, int | None]:
    """The model whose batch of events a commit brought, and the batch; None for none.

    model: the name of the table's own.
    """
    note = stream_note(commit)
    if note is not None:
        return model, note["batch_id"]
    # A model that takes another's place leaves that one without any.
    batches = sorted((number, unique_id) for unique_id, number in merged_by(commit).items())
    if batches:
        number, unique_id = batches[-1]
        return unique_id.split(".", 2)[-1], number
    return None, None


def merged_by(commit: Commit) -> dict[str, int]:
    """The batches of events that a commit merged, by the unique id of the model."""
    found = {}
    for app, number in commit.transactions.items():
        unique_id = app.removeprefix(MERGED_THROUGH).rpartition("/")[0]
        if app.startswith(MERGED_THROUGH) and unique_id.startswith("model."):
            found[unique_id] = number
    return found


def deletes_of(commit: Commit) -> tuple[int, bool]:
    """How many tombstones a merge wrote, of a table that keeps them, and whether just so many.

    Of deletes that change nothing, as older ones do, it is known how many keys there were in all.
    """
    note = commit.note(MERGE_FIGURES) or {}
    deletes, keys = int(note.get("deletes") or 0), int(note.get("key_count") or 0)
    # What is removed leaves no tombstone.
    if not deletes or commit.deleted_rows:
        return 0, True
    return min(deletes, commit.changed_rows), keys == commit.changed_rows


def published_of(commit: Commit) -> dict[str, Any] | None:
    """What a publish noted in its commit, `version` and `candidate`; None for another commit."""
    found = commit.note(PUBLISH_NOTE)
    return found if found is not None and "version" in found else None


def shown_since(newest_first: Iterable[Commit]) -> datetime | None:
    """When the newest publish of a table was; None where its commits do not tell it."""
    return next((one.at for one in newest_first if published_of(one)), None)


def is_foreign(commit: Commit) -> bool:
    """Whether it adds or removes files of a published table, and no publish made it."""
    return not commit.note(PUBLISH_NOTE) and not commit.kinds.isdisjoint(OF_FILES)


def touched(commit: Commit) -> set[str]:
    """The paths of the files that a commit adds, or gives another deletion vector."""
    added = list(commit.added)
    # A commit that takes nothing and changes no row gives files new tags or statistics.
    is_label = "remove" not in commit.kinds and not any(
        file.get("dataChange", True) for file in added
    )
    return set() if is_label else {file["path"] for file in added}


def skips_of(commit: Commit) -> list[str]:
    """What a commit says of batches that are left out for good."""
    found = []
    for app, number in commit.transactions.items():
        if app.startswith(SKIPPED):
            model, batch, *file = app.removeprefix(SKIPPED).split("/", 2)
            does = "leaves out" if number == 1 else "no longer leaves out"
            of_file = f"{file[0]} in " if file else ""
            found.append(f"{does} {of_file}batch {batch} of {model.split('.', 2)[-1]}")
    return found
