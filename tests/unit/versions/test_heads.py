"""What the commits of a published table say of who wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alluvium import marks
from alluvium.delta.log import heads, log

FILE = {"add": {"path": "a.parquet", "dataChange": False}}


def _commit(*actions: Any, note: Any = None, message: str | None = None) -> list[str]:
    if note is not None:
        message = json.dumps({marks.PUBLISH_NOTE: note})
    info = {"commitInfo": {"operation": "WRITE", "userMetadata": message}}
    return [json.dumps(one) for one in (info, *actions)]


def test_who_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    last, step = {"base": 4, "version": 7}, {"base": 3}
    commits = [
        _commit(FILE, note=last),
        _commit({"remove": {"path": "b.parquet"}}, note=step),
        # Other engines write who they are behind the files.
        _commit(FILE, note=step)[::-1],
        _commit(FILE, message="nightly"),
        _commit({"remove": {"path": "a.parquet"}}),
        [json.dumps(FILE)],
        _commit({"metaData": {"id": "x"}}, message=json.dumps({"other": 1})),
        [],
        None,
    ]
    monkeypatch.setattr(log, "commits_of", lambda *_: iter(commits))
    found = list(heads.written(None, None))
    assert found == [
        *((note, False) for note in (last, step, step)),
        *[({}, True)] * 3,
        *[({}, False)] * 3,
    ]
