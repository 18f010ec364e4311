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

from deltalake import DeltaTable
from functional.delta_rs import by_query

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

    session = engine.new_session(engine.Settings(Path(task["home"])))
    query = QUERY.format(f"delta.`{task['table']}`")

    def read() -> tuple[int, int, int]:
        n, lo, hi = session.sql(query).collect()[0]
        return n, lo, hi

    return read


def main() -> None:
    task = json.loads(sys.argv[1])
    read = {"delta-rs": by_delta_rs, "spark": by_spark}[task["engine"]](task)
    read()  # the first one of a process takes seconds
    print("ready", flush=True)
    sys.stdin.readline()
    found: Counter[tuple[int, int, int] | str] = Counter()
    for _ in range(task["reads"]):
        time.sleep(task["pause"])
        try:
            found[read()] += 1
        except Exception as error:  # whatever stops a read is what is looked for
            found[str(error)] += 1
    Path(task["found"]).write_text(json.dumps(list(found.items())))


if __name__ == "__main__":
    main()
