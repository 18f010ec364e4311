"""The JVM as PySpark sees it: started, attached to, left, or ended."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

_SUBMIT = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"
_OF_FILE = "--load-spark-defaults --properties-file"
_PROPERTIES, _LONGEST_START = "spark-properties-", 3600.0
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
# Behind options of the user's own: our main class in place of Spark's.
_WARM = "--class alluvium.WarmEngine spark-internal"


def start(conf: Mapping[str, Any], log: Path, lock: IO[str] | None, *, is_warm: bool) -> None:
    """Start the JVM with a log file as its output: what it prints is not for dbt's console.

    Each user of the machine may read a command line, and a profile has keys and passwords. So the
    properties go by a file that only this user may read, as long as the JVM starts.

    Args:
        conf: Spark's properties.
        lock: a file that it has open as long as it lives.
        is_warm: whether it may outlive this process.
    """
    with SparkContext._lock:
        if SparkContext._gateway is None:
            given = os.environ.get(_SUBMIT, _SHELL)
            given = given.removesuffix(_SHELL) + _WARM if is_warm else given
            with (
                log.open("ab") as file,
                _properties(conf, log.parent) as properties,
            ):
                gateway = _launched(
                    # What the user's own environment says comes later, so it is what counts.
                    {_SUBMIT: f"{_OF_FILE} {shlex.quote(properties)} {given}"},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    pass_fds=() if lock is None else (lock.fileno(),),
                    # A signal for the command's terminal, or its group, is none for the JVM.
                    start_new_session=is_warm,
                )
            if is_warm:
                # Of its socket too: nobody else has this one.
                gateway.proc.stdin.write(f"{gateway.gateway_parameters.auth_token}\n".encode())
                gateway.proc.stdin.flush()
            SparkContext._ensure_initialized(gateway=gateway)


def attach(port: int, secret: str) -> SparkSession:
    """A session of a JVM whose context another process started.

    Args:
        port: where it listens for py4j.
    """
    with SparkContext._lock:
        known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        gateway = _launched(known)
        SparkContext._ensure_initialized(gateway=gateway)
    jvm: Any = SparkContext._jvm
    base = SparkSession._get_j_spark_session_class(jvm).getDefaultSession().get()
    spark = base.sparkContext()
    context = SparkContext(
        conf=SparkConf(_jconf=spark.getConf()), jsc=jvm.JavaSparkContext(spark), gateway=gateway
    )
    return SparkSession(context, base.newSession())


def leave(*, is_exit: bool) -> None:
    """Forget a JVM that goes on without this process, and what PySpark has of it.

    Args:
        is_exit: whether this process is about to end, with its threads and connections.
    """
    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    with contextlib.suppress(Exception):
        shutil.rmtree(context._temp_dir)
    if not is_exit:
        with contextlib.suppress(Exception):
            context._accumulatorServer.shutdown()
        with contextlib.suppress(Exception):
            gateway.close()


def end() -> None:
    """End the JVM with its context.

    Its threads keep their connection to the metastore they first used. So a context over another
    home would find the old home's tables. And Java options count only where a JVM starts.
    """
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
        # PySpark's JVM lives as long as its standard input is open.
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)


@contextlib.contextmanager
def _properties(conf: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """A file with Spark's properties that nobody else may read."""
    for left in folder.glob(f"{_PROPERTIES}*"):  # of starts that were killed
        with contextlib.suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _LONGEST_START:
                left.unlink()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=_PROPERTIES) as made:
        for pair in conf.items():
            made.write("=".join(_escaped(str(text)) for text in pair) + "\n")
        made.flush()
        yield made.name


def _escaped(text: str) -> str:
    """As `java.util.Properties` reads it."""
    return re.sub(r"[\\=:#!\s]", lambda one: _ESCAPES.get(one[0], f"\\{one[0]}"), text)


def _launched(environment: Mapping[str, str], **popen: Any) -> Any:
    """What PySpark's `launch_gateway` gives.

    It takes some of what it is told from the environment alone. Other threads read that, and dbt's
    fail where a variable goes meanwhile. So it gets an environment of its own.

    Args:
        environment: variables beside those of this process.
        popen: how the JVM is started.
    """
    own = SimpleNamespace(**{**vars(os), "environ": {**os.environ, **environment}})
    known = {**launch_gateway.__globals__, "os": own}
    return FunctionType(launch_gateway.__code__, known)(None, popen)
