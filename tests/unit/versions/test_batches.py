"""What commits say of the batch that they brought, and of the candidate that they show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alluvium.plan.versions.batches import batch_of, deletes_of, published_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.history import Told


def commit(message: str | None = None, **transactions: int) -> Commit:
    return Commit(7, "id", None, "MERGE", message, None, transactions, 0)


@pytest.mark.parametrize(
    ("message", "transactions", "found"),
    [
        (None, {"alluvium/model.mine.flights/an-id": 17}, ("flights", 17)),
        (None, {"alluvium/model.mine.flights.v2/an-id": 17}, ("flights.v2", 17)),
        (json.dumps({"alluvium_stream": {"batch_id": 4}}), {"alluvium/stream/x": 9}, ("own", 4)),
        (None, {"alluvium/published/an-id": 3, "alluvium.zorder": 1, "theirs": 5}, (None, None)),
        # One model takes the place of another.
        (None, {"alluvium/model.p.a/id": -1, "alluvium/model.p.a.v1/id": 5}, ("a.v1", 5)),
        ("released by hand", {}, (None, None)),
        ("[1]", {}, (None, None)),
    ],
)
def test_batches(message: str | None, transactions: dict[str, int], found: Any) -> None:
    assert batch_of("own", commit(message, **transactions)) == found


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (
            {"alluvium_published": {"version": 3, "candidate": "a"}},
            {"version": 3, "candidate": "a"},
        ),
        ({"alluvium_published": "theirs"}, None),
        ({}, None),
        ([], None),
    ],
)
def test_published(message: Any, found: Any) -> None:
    assert published_of(commit(json.dumps(message))) == found
    assert published_of(commit("by hand")) is None
    assert published_of(commit()) is None


def test_rows_that_were_copied_are_none_of_a_commits_own() -> None:
    copied = Commit(7, "id", None, "DELETE", None, None, {}, 97)
    assert (copied.without_copies(100), copied.without_copies(97)) == (3, 0)
    assert copied.without_copies(None) is None


@pytest.mark.parametrize(
    ("keys", "deletes", "changed", "removed", "said"),
    [
        (5, 0, 5, 0, "+5 -2 rows"),
        (5, 2, 5, 0, "+3 -2 rows, 2 deletes"),
        (1, 1, 1, 0, "+0 -2 rows, 1 delete"),
        # Older deletes may be among what changed nothing.
        (9, 2, 5, 0, "+5 -2 rows, of them up to 2 deletes"),
        (9, 9, 5, 0, "+5 -2 rows, of them up to 5 deletes"),
        # Rows that go leave no tombstone.
        (5, 2, 5, 2, "+5 -2 rows"),
    ],
)
def test_tombstones(keys: int, deletes: int, changed: int, removed: int, said: str) -> None:
    note = json.dumps({"alluvium_merge": {"key_count": keys, "deletes": deletes}})
    merge = Commit(7, "id", None, "MERGE", note, None, {}, 0, None, changed, removed)
    assert Told(merge, changed, 2, [], deletes_of(merge)).rows == said
    assert Told(merge, 0, 0, [], (0, True)).rows == ""
    assert Told(merge, None, None, [], (0, True)).rows == "+? -? rows"
