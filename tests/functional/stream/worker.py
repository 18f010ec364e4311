"""One run of a streaming table in a process of its own that may be killed at a chosen moment.

`python worker.py HOME ROOT POINT`: POINT names where the process kills itself and its JVM, or is
`none`; then the table's rows are written to ROOT/rows.json.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alluvium import ingest as stream
from alluvium.delta.log import own_commit
from alluvium.engine import session as engine
from alluvium.ingest import checkpoint
from alluvium.ingest.micro_batches import MicroBatches

# The package's attribute of this name is the function.
append = importlib.import_module("alluvium.ingest.append")


def die(*_: Any) -> None:
    os.killpg(0, signal.SIGKILL)


def around(
    owner: Any, name: str, before: Callable[..., None] | None, after: Callable[..., None] | None
) -> None:
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before:
            before()
        result = original(*args, **kwargs)
        if after:
            after()
        return result

    setattr(owner, name, wrapped)


def second(action: Callable[..., None]) -> Callable[..., None]:
    calls = []

    def maybe() -> None:
        calls.append(1)
        if len(calls) == 2:
            action()

    return maybe


POINTS: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "planned": lambda: around(MicroBatches, "write", die, None),
    "committed": lambda: around(own_commit, "metrics", die, None),
    "second_planned": lambda: around(MicroBatches, "write", second(die), None),
    "second_committed": lambda: around(own_commit, "metrics", second(die), None),
    "pointer": lambda: around(checkpoint, "save", None, die),
    "created": lambda: around(append, "starting_place", die, None),
    "finished": lambda: around(append, "_take", None, die),
}


def main() -> None:
    home, root, point, *flags = sys.argv[1:]
    os.setpgid(0, 0)
    session = engine.new_session(engine.Settings(home=Path(home)))
    session.sql("create schema if not exists bronze")
    POINTS[point]()
    block = {"format": "text", "path": "landing", "max_files_per_trigger": 2}
    feed = stream.parse_spec("landing.feed", block).resolve(root, None)
    target = stream.Target("bronze.killed", f"{root}/checkpoints/bronze.killed")
    view = "landing__feed"
    stream.append(
        session,
        feed,
        f"select * from `{view}`",
        view,
        target,
        full_refresh="refresh" in flags,
        now=lambda: 0.0,  # batches are numbered from 1
    )
    rows = session.sql(
        "select _source_partition, _source_offset, _value, _batch_id from bronze.killed"
    ).collect()
    Path(root, "rows.json").write_text(json.dumps([list(row) for row in rows]))


if __name__ == "__main__":
    main()
