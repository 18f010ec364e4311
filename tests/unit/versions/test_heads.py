"""What the commits of a published table say of who wrote them."""

from __future__ import annotations

import json
from typing import Any

from alluvium import marks
from alluvium.plan.versions.batches import is_foreign
from alluvium.plan.versions.commit import Commit

FILE = {"add": {"path": "a.parquet", "dataChange": False}}


def _commit(*actions: Any, note: Any = None, message: str | None = None) -> list[str]:
    if note is not None:
        message = json.dumps({marks.PUBLISH_NOTE: note})
    info = {"commitInfo": {"operation": "WRITE", "userMetadata": message}}
    return [json.dumps(one) for one in (info, *actions)]


def test_who_wrote() -> None:
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
        # Gone.
        [],
    ]
    read = [Commit(3, lines) for lines in commits]
    found = [(one.note(marks.PUBLISH_NOTE) or {}, is_foreign(one)) for one in read]
    assert found == [
        *((note, False) for note in (last, step, step)),
        *[({}, True)] * 3,
        *[({}, False)] * 3,
    ]
