"""What commits say of the batch that they brought, and of the candidate that they show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alluvium.delta.commit_files import Commit
from alluvium.report.batches import batch_of, published_of


def commit(message: str | None = None, **transactions: int) -> Commit:
    return Commit(7, "id", None, "MERGE", message, None, None, transactions, 0)


@pytest.mark.parametrize(
    ("message", "transactions", "found"),
    [
        (None, {"alluvium/model.mine.flights/an-id": 17}, ("flights", 17)),
        (None, {"alluvium/model.mine.flights.v2/an-id": 17}, ("flights.v2", 17)),
        (json.dumps({"alluvium_stream": {"batch_id": 4}}), {"alluvium/stream/x": 9}, ("own", 4)),
        (None, {"alluvium/published/an-id": 3, "alluvium.zorder": 1, "theirs": 5}, (None, None)),
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
    copied = Commit(7, "id", None, "DELETE", None, None, None, {}, 97)
    assert (copied.without_copies(100), copied.without_copies(97)) == (3, 0)
    assert copied.without_copies(None) is None
