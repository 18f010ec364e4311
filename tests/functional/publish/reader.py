"""Who reads a published table in a process of its own: ``reader.py <task as JSON>``.

It says "ready", reads when its standard input has a line, and writes how often it found what.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import DeltaTable
from functional.delta_rs import by_query

if TYPE_CHECKING:  # a process that reads by delta-rs needs none of it
    from pyspark.sql import SparkSession

QUERY = "select count(*) as n, min(v) as lo, max(v) as hi from {}"
Read = Callable[[], tuple[int, int, int]]


def by_delta_rs(task: dict[str, str]) -> Read:
    """Each read opens the table, as a reader does that comes once."""

    def read() -> tuple[int, int, int]:
        (row,) = by_query(DeltaTable(task["table"]), QUERY.format("t")).to_pylist()
        return row["n"], row["lo"], row["hi"]

    return read


def by_spark(task: dict[str, str]) -> Read:
    from alluvium.engine import session as engine

    return by_session(engine.new_session(engine.Settings(Path(task["home"]))), task["table"])


def by_session(session: SparkSession, table: str) -> Read:
    query = QUERY.format(f"delta.`{table}`")

    def read() -> tuple[int, int, int]:
        n, lo, hi = session.sql(query).collect()[0]
        return n, lo, hi

    return read


def found_by(read: Read, reads: int, pause: float) -> Counter[tuple[int, int, int] | str]:
    """How often it found what; an error's text in the place of what it did not find."""
    found: Counter[tuple[int, int, int] | str] = Counter()
    for _ in range(reads):
        time.sleep(pause)
        try:
            found[read()] += 1
        except Exception as error:  # whatever stops a read is what is looked for
            found[str(error)] += 1
    return found


def main() -> None:
    task = json.loads(sys.argv[1])
    read = {"delta-rs": by_delta_rs, "spark": by_spark}[task["engine"]](task)
    read()  # the first one of a process takes seconds
    print("ready", flush=True)
    sys.stdin.readline()
    found = found_by(read, task["reads"], task["pause"])
    Path(task["found"]).write_text(json.dumps(list(found.items())))


if __name__ == "__main__":
    main()
