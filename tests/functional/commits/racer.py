"""One of several processes that commit to one table at once: ``racer.py <task as JSON>``.

It starts Spark on a home of its own, says "ready" and begins when told to on its standard input.
Its last line is JSON: what it was told has been committed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.engine import session as engine

DEFAULT_STORE = "io.delta.storage.HDFSLogStore"
TAKEN = "java.nio.file.FileAlreadyExistsException"


STEP = 0.06  # seconds from one name to the next


def names(session: SparkSession, store_class: str, folder: str, me: str, count: int) -> list[Any]:
    """Try to commit under each of `count` names, at the moment when the others try.

    Returns the names that the store said are ours.
    """
    start = float(sys.stdin.readline())
    jvm: Any = session._jvm
    conf = session.sparkContext._jsc.hadoopConfiguration()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    made = jvm.java.lang.Class.forName(store_class, True, loader).getConstructors()[0]
    arguments = session.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = conf
    store = made.newInstance(arguments)
    lines = jvm.java.util.ArrayList()
    lines.add(me)
    taken: list[str] = []
    for number in range(count):
        name = f"{number:020d}.json"
        while time.monotonic() < start + number * STEP:
            time.sleep(0.0005)
        path = jvm.org.apache.hadoop.fs.Path(f"file://{folder}/{name}")
        try:
            store.write(path, lines.iterator(), False, conf)
            taken.append(name)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != TAKEN:
                raise
    return taken


def rows(session: SparkSession, table: str, me: str, count: int) -> list[Any]:
    """Append `count` rows of ours, one a commit; returns those whose append succeeded."""
    done = []
    for number in range(count):
        frame = session.range(1).selectExpr(f"'{me}' as who", f"{number} as number")
        try:
            frame.coalesce(1).write.format("delta").mode("append").save(table)
            done.append(number)
        except PySparkException as error:
            print(error, file=sys.stderr)
    return done


def main() -> None:
    task = json.loads(sys.argv[1])
    session = engine.new_session(engine.Settings(Path(task["home"]), conf=task["conf"]))
    if task["race"] == "rows":  # the first write of a process takes seconds
        session.range(1).write.format("delta").mode("append").save(task["home"] + "/warm")
    print("ready", flush=True)
    sys.stdin.readline()
    if task["race"] == "names":
        done = names(session, task["store"], task["path"], task["me"], task["count"])
    else:
        done = rows(session, task["path"], task["me"], task["count"])
    print(json.dumps(done))


if __name__ == "__main__":
    main()
