"""What commits say: of the batch that they brought, and of the candidate that they show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from alluvium.delta.log import log
from alluvium.plan.versions.batches import batch_of, deletes_of, published_of
from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.history import Told


def commit(message: str | None = None, **transactions: int) -> Commit:
    txns = [{"txn": {"appId": app, "version": one}} for app, one in transactions.items()]
    return written("MERGE", {}, message, *txns)


def written(operation: str, metrics: Any, message: str | None = None, *actions: Any) -> Commit:
    info = {"operation": operation, "operationMetrics": metrics, "userMetadata": message}
    return Commit(7, [{"commitInfo": info}, *actions])


def test_a_line_is_parsed_where_somebody_asks_for_it() -> None:
    lines = [
        '{"add":{"path":"a","stats":"x"}}',
        '{"add":{ this is not JSON',
        '{ "remove" : {"path": "b"}}',
        '{"txn":{"appId":"one","version":3}}',
        '{"txn":null}',
        # Some engines write it last.
        '{"commitInfo":{"operation":"WRITE","timestamp":1000}}',
    ]
    written = Commit(4, lines)
    assert (written.operation, written.at) == ("WRITE", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert written.transactions == {"one": 3}
    assert written.kinds == {"add", "remove", "txn", "commitInfo"}
    assert list(written.removed) == [{"path": "b"}]
    added = written.added
    assert next(added) == {"path": "a", "stats": "x"}
    with pytest.raises(ValueError, match=r"version 4 is not whole \(00000000000000000004\.json"):
        next(added)
    # What was parsed elsewhere says the same; another number is another commit.
    parsed = Commit(4, [{"commitInfo": {"operation": "WRITE", "timestamp": 1000}, "txn": None}])
    assert parsed.id == written.id
    assert Commit(5, parsed.lines).id != parsed.id


@pytest.mark.parametrize("last", ["", '{"add":{"pa', "\0" * 99, "7", None])
def test_a_commit_whose_file_is_cut_is_gone(last: str | None) -> None:
    begins = ['{"commitInfo":{"operation":"WRITE"}}']
    texts = [*begins, *([] if last is None else [last])]
    lines = Mock(**{"last.return_value": texts[-1], "nonEmpty.return_value": True})
    lines.configure_mock(**{"size.return_value": 2, "mkString.return_value": "\n".join(texts)})
    table_log: Any = Mock(**{"store.return_value.read.return_value": lines})
    found = log.commit_of(Mock(), table_log, 4)
    # Some engines end a file with an empty line.
    assert (found.is_gone, found.operation) == ((False, "WRITE") if not last else (True, None))


def test_a_commit_that_is_gone_says_nothing() -> None:
    gone = Commit(4)
    assert gone.is_gone
    assert (gone.id, gone.at, gone.operation, gone.restored) == (None, None, None, None)
    assert (gone.kinds, gone.transactions, gone.note("any")) == (set(), {}, None)
    assert not Commit(4, [{}]).is_gone


@pytest.mark.parametrize(
    ("after", "oldest_first", "versions"),
    [(-1, False, [6, 5, 4, 3, 2]), (3, False, [6, 5, 4]), (3, True, [4, 5, 6]), (1, True, [2])],
)
def test_commits_end_with_the_first_one_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, after: int, oldest_first: bool, versions: list[int]
) -> None:
    def read(_session: Any, _log: Any, version: int) -> Commit:
        return Commit(version, [{}] if version > 2 else ())

    monkeypatch.setattr(log, "commit_of", read)
    newest: Any = SimpleNamespace(version=lambda: 6, deltaLog=lambda: None)
    found = list(log.commits_of(Mock(), newest, after, oldest_first))
    assert [one.version for one in found] == versions
    assert [one.is_gone for one in found] == [one == 2 for one in versions]


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
    copied = written("DELETE", {"numCopiedRows": "97"})
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
    metrics = {"numTargetRowsUpdated": str(changed), "numTargetRowsDeleted": str(removed)}
    merge = written("MERGE", metrics, note)
    assert Told(merge, changed, 2, [], deletes_of(merge)).rows == said
    assert Told(merge, 0, 0, [], (0, True)).rows == ""
    assert Told(merge, None, None, [], (0, True)).rows == "+? -? rows"
