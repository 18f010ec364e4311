"""One of two processes that commit at the same time: ``racer.py <task as JSON>``.

It starts Spark on a home of its own, says "ready" and begins at the moment that its standard input
names. Its last line is JSON: what it was told is committed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta.internals import MANUAL_UPDATE
from alluvium.engine import session as engine
from alluvium.engine.jvm import internal

STEP = 0.04  # seconds from one name to the next
STEP_OF_COMMITS = 0.1
TAKEN = "java.nio.file.FileAlreadyExistsException"


def log_store(session: SparkSession, name: str) -> Any:
    """A log store of Delta's Java interface."""
    jvm: Any = session._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    made = jvm.java.lang.Class.forName(name, True, loader).getConstructors()[0]
    arguments = session.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = session.sparkContext._jsc.hadoopConfiguration()
    return made.newInstance(arguments)


def names(session: SparkSession, task: dict[str, Any], start: float) -> list[str]:
    """Commit under each of so many names at the moment when the other does; returns our own."""
    jvm: Any = session._jvm
    conf = session.sparkContext._jsc.hadoopConfiguration()
    store = log_store(session, task["store"])
    lines = jvm.java.util.ArrayList()
    lines.add(task["me"])
    taken: list[str] = []
    for number in range(task["names"]):
        name = f"{number:020d}.json"
        path = jvm.org.apache.hadoop.fs.Path(f"file://{task['folder']}/{name}")
        time.sleep(max(0, start + number * STEP - time.monotonic()))
        try:
            store.write(path, lines.iterator(), False, conf)
            taken.append(name)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != TAKEN:
                raise
    return taken


def rows(session: SparkSession, task: dict[str, Any], start: float) -> list[int]:
    """Append so many rows, one a commit; returns those whose commit succeeded.

    Their files are written before, and each commit is begun when the other begins its own.
    """
    jvm: Any = session._jvm
    delta, none = jvm.org.apache.spark.sql.delta, jvm.scala.Option.empty()
    manual = internal(session, MANUAL_UPDATE)
    # Delta asks for the thread's session; SQL sets it, calls past SQL do not.
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)
    table = delta.DeltaLog.forTable(session._jsparkSession, task["table"])
    done = []
    for number in range(task["rows"]):
        name = f"{task['me']}-{number}.parquet"
        file = Path(task["table"], name)
        pq.write_table(pa.table({"who": [task["me"]], "number": [number]}), file)
        add = {"path": name, "partitionValues": {}, "size": file.stat().st_size,
               "modificationTime": 0, "dataChange": True}  # fmt: skip
        actions = jvm.java.util.ArrayList()
        actions.add(delta.actions.Action.fromJson(json.dumps({"add": add})))
        sequence = jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
        time.sleep(max(0, start + number * STEP_OF_COMMITS - time.monotonic()))
        try:
            table.startTransaction(none, none).commit(sequence, manual)
            done.append(number)
        except (Py4JJavaError, PySparkException) as error:
            print(error, file=sys.stderr)
    return done


def main() -> None:
    task = json.loads(sys.argv[1])
    # The store under test stands in the profile's place, so that any can be raced.
    conf = {"spark.delta.logStore.file.impl": task["store"]} if task["theirs"] else {}
    session = engine.new_session(engine.Settings(Path(task["home"]), conf=conf))
    if task["rows"]:  # the first commit of a process takes seconds
        session.range(1).write.format("delta").mode("append").save(task["home"] + "/warm")
    print("ready", flush=True)
    start = float(sys.stdin.readline())
    done: dict[str, Any] = {"names": names(session, task, start)}
    done["rows"] = rows(session, task, start + task["names"] * STEP + 1)
    print(json.dumps(done))


if __name__ == "__main__":
    main()
