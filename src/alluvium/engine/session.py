"""The one Spark context of this process, and a session of its own for whoever asks.

Everything embedded lives under `home`: jars, metastore (Derby), warehouse, scratch and logs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from alluvium.engine import (
    EngineError,
    home_lock,
    homes,
    jars,
    java,
    log_store,
    own_jar,
    properties,
    s3,
    versions,
)
from alluvium.engine.internals import DELTA_CATALOG

_MEMORY = "spark.driver.memory"
_METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
_METASTORE_URIS = "spark.hadoop.hive.metastore.uris"
_WAREHOUSE = "spark.sql.warehouse.dir"
_ZONE = "spark.sql.session.timeZone"

# A dbt run is short: most of its CPU time is loading and compiling what runs once. So the
# optimising compiler waits for what is really hot: a hundred times the JVM's defaults. A loop over
# a few million rows gets there. The heap starts large enough to be collected rarely.
_SHORT_RUN = (
    "-XX:Tier4InvocationThreshold=500000",
    "-XX:Tier4MinInvocationThreshold=60000",
    "-XX:Tier4CompileThreshold=1500000",
    "-XX:Tier4BackEdgeThreshold=4000000",
)
_START_OF_HEAP = ("-Xms1g", "-Xmn384m")


@dataclass(frozen=True)
class Settings:
    """What a context is started from.

    home: absolute.
    conf: laid over the defaults.
    wait: seconds to wait for another process that has the home open; another number is no other
        context.
    single_writer: nobody else writes to the tables on S3, whose log store is then Delta's own.
    """

    home: Path
    master: str = "local[*]"
    conf: dict[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    single_writer: bool = False
    wait: float = field(default=0.0, compare=False)

    @property
    def embedded_metastore(self) -> bool:
        return _METASTORE_URL not in self.conf and _METASTORE_URIS not in self.conf


# The name of threads that `start_in_background` starts.
BESIDE = "alluvium-start"

_guard = threading.Lock()
_running: tuple[Settings, SparkSession, IO[str] | None] | None = None
_notices: list[str] = []


def new_session(settings: Settings) -> SparkSession:
    """A fresh session (own temp views, conf and current schema) over the process's context.

    The context is started at the first call. Another `settings` in the same process replaces it.

    Raises:
        EngineError: Java or the jars are missing, another process holds the home, or Spark
            does not start.
    """
    global _running
    with _guard:
        if _running is None or _running[0] != settings:
            stop_locked()
            _running = _start(settings)
        elif has_let_go():
            _running = (*_running[:2], home_lock.take(settings.home, settings.wait))
        return _running[1].newSession()


def has_let_go() -> bool:
    """Whether the context runs, and left its home to others meanwhile (`rounds.let_go`)."""
    return _running is not None and _running[2] is not None and _running[2].closed


def hold(settings: Settings, say: Callable[[str], None]) -> None:
    """Wait in the caller's thread until no other process has the home open, and keep it open.

    Raises:
        EngineError: another process has it, and did not let go in time.
    """
    # A thread of this process may be about to start the context, which takes the home.
    if settings.embedded_metastore and _guard.acquire(blocking=False):
        try:
            if _running is None or _running[0].home != settings.home or has_let_go():
                home_lock.hold(settings.home, settings.wait, say)
        finally:
            _guard.release()


def start_in_background(settings: Settings, *, writes: bool) -> None:
    """Start the context while the caller does something else, and load what comes next.

    The first use of the metastore and of Delta costs seconds of class loading each. Here both are
    paid at once, beside the caller's own work. `new_session` waits for the context and reports what
    went wrong with it.

    writes: the caller is going to write tables.
    """

    if _running is not None and _running[0] == settings:
        return

    def work(first: Callable[[SparkSession], Any], *others: Callable[[SparkSession], Any]) -> None:
        with contextlib.suppress(Exception):  # a start that failed is not tried once more for each
            session = new_session(settings)
            for other in others:
                threading.Thread(target=work, args=(other,), name=BESIDE, daemon=True).start()
            first(session)

    def write(session: SparkSession) -> None:
        path = settings.home / "scratch" / "warm"
        session.range(1).write.format("delta").mode("overwrite").save(str(path))

    tasks = [lambda session: session.sql("show databases").collect(), *([write] if writes else [])]
    threading.Thread(target=work, args=tasks, name=BESIDE, daemon=True).start()


def stop() -> None:
    """Stop the context, if one runs, and let go of its home."""
    with _guard:
        stop_locked()


def _at_exit() -> None:
    # A context that is still starting ends with this process: its standard input closes.
    if _guard.acquire(blocking=False):
        try:
            stop_locked()
        finally:
            _guard.release()


def stop_locked() -> None:
    global _running
    if _running is not None:
        _, session, lock = _running
        _running = None
        with contextlib.suppress(Exception):
            session.stop()
        _end_jvm()
        if lock is not None:
            lock.close()


def _end_jvm() -> None:
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


atexit.register(_at_exit)


def _start(settings: Settings) -> tuple[Settings, SparkSession, IO[str] | None]:
    java.check()
    versions.check()
    for folder in ("warehouse", "metastore", "scratch", "logs"):
        (settings.home / folder).mkdir(parents=True, exist_ok=True)
    if settings.master.startswith("local"):
        # Spark's own choice is the first python3 of PATH, which may not have what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    lock = home_lock.take(settings.home, settings.wait) if settings.embedded_metastore else None
    try:
        if lock is not None:
            homes.remove_half_made(homes.database(settings.home))
        has_s3 = properties.names_s3(settings.conf)
        on_s3 = s3.warehouse(settings.conf)
        paths = jars.resolve(settings.home, packages=list(settings.packages), s3a=has_s3)
        paths.append(own_jar.jar(settings.home, paths))
        builder = SparkSession.builder
        for key, value in _conf(settings, paths).items():
            builder = builder.config(key, value)
        log = settings.home / "logs" / "spark.log"
        try:
            builder = builder.enableHiveSupport()
            _start_jvm(builder._options, log)
            if on_s3 is not None:
                on_s3.is_read(SparkContext._jvm)
            session = builder.getOrCreate()
        except EngineError:
            raise
        except Exception as error:
            raise EngineError(f"Spark did not start: {error}\nIts log is {log}.") from error
        if lock is not None:
            _settle(settings, session)
        if has_s3 and settings.single_writer:
            _notices.append(
                "`single_writer: true` in the profile: commits to s3a:// are not kept apart. Where"
                " another process writes to these tables, commits get lost."
            )
    except BaseException:
        if lock is not None:
            lock.close()
        raise
    # PySpark prints every failed statement with its JVM stack, and asks Spark for the text: for
    # Delta's own errors that fails and hides them. Whoever ran the statement reports the failure.
    CapturedException._log_exception = lambda self: None  # type: ignore[method-assign]
    return settings, session, lock


def _settle(settings: Settings, session: SparkSession) -> None:
    """Keep a home that was copied from the tables of the original."""
    home = settings.home
    own_warehouse = _WAREHOUSE not in settings.conf
    try:
        said = homes.settle(session, home, homes.database(home), own_warehouse=own_warehouse)
    except BaseException:
        session.stop()
        _end_jvm()
        raise
    if said is not None:
        _notices.append(said)
    old = homes.moved_from(homes.database(home))
    if old is not None:
        _notices.append(
            f"Clones and published tables of {home} may still show files of {old}, from where it"
            " was moved or copied. `dbt run-operation alluvium.recover` says which. With"
            " `dry_run: false` they show those of this home."
        )


def arrived(home: Path) -> None:
    """Note that no table of a home that was moved shows files of the old place any more."""
    homes.arrived(homes.database(home))


def notices() -> list[str]:
    """What whoever started Spark should be told, once."""
    said = list(_notices)
    _notices.clear()
    return said


def _conf(settings: Settings, paths: list[Path]) -> dict[str, str]:
    home = settings.home
    cores = os.cpu_count() or 2
    conf = {
        "spark.app.name": "alluvium",
        "spark.master": settings.master,
        "spark.jars": ",".join(map(str, paths)),
        "spark.sql.extensions": own_jar.EXTENSIONS,
        "spark.sql.catalog.spark_catalog": DELTA_CATALOG.name,
        _WAREHOUSE: str(home / "warehouse"),
        # Buckets, literals and freshness must not depend on where the process runs.
        _ZONE: "UTC",
        # Python functions run in processes of their own, whose zone PySpark takes for theirs.
        "spark.executorEnv.TZ": "UTC",
        # A text may hold `${…}`: Spark would put a setting, or a property of this machine, there.
        "spark.sql.variable.substitute": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Spark 4.2.0 sends a Python function that reads a table something that its process does not
        # expect, and both wait without an end (SPARK-58241).
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        # A table that names no format (a hook's, say) is Delta's, as a model's is.
        "spark.sql.sources.default": "delta",
        # Nodes that run side by side share the cores; their tiers say how.
        "spark.scheduler.mode": "FAIR",
        # The JVM never compiles methods above its 8000 bytes. A merge with 64 ranges takes three
        # times as long in such a method as without one.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if settings.embedded_metastore:
        conf[_METASTORE_URL] = f"jdbc:derby:;databaseName={homes.database(home)};create=true"
        # Between rounds the database is closed, and no thread of a pool may open it meanwhile.
        conf["spark.hadoop.datanucleus.connectionPool.minIdle"] = "0"
        # What it refuses (a column's comment above 256 characters, say) it refuses each time. Hive
        # would ask ten times, two seconds apart, before Spark writes the table in another way.
        conf["spark.hadoop.hive.hmshandler.retry.attempts"] = "3"
        conf["spark.hadoop.hive.hmshandler.retry.interval"] = "100ms"
    elif drivers := [str(jar) for jar in paths if jars.is_jdbc_driver(jar)]:
        # Java gives the metastore's client only those drivers that are on the JVM's class path.
        conf["spark.driver.extraClassPath"] = os.pathsep.join(drivers)
    if settings.master.startswith("local"):
        conf |= {
            _MEMORY: "2g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(home / "scratch"),
            # Spark's and Delta's defaults are sized for clusters; here each task costs more
            # than the few rows it carries.
            "spark.sql.shuffle.partitions": str(cores),
            "spark.databricks.delta.snapshotPartitions": "2",
            # Results of up to a megabyte only are handed over as they are by default; here tasks
            # and driver are one process.
            "spark.task.maxDirectResultSize": "64m",
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(cores),
        }
    conf |= log_store.conf(settings.conf, home, single_writer=settings.single_writer)
    conf |= settings.conf
    conf["spark.driver.extraJavaOptions"] = _java_options(settings, conf[_ZONE])
    return conf


def _java_options(settings: Settings, zone: str) -> str:
    """Ours, then the profile's: of a flag given twice the JVM takes the later one."""
    home = settings.home
    options = [f'"-Dderby.system.home={home / "metastore"}"']
    # Delta writes the time of a `TIMESTAMP AS OF` in the JVM's zone and reads it in the session's.
    options.append(f"-Duser.timezone={'GMT' if zone[:1] in '+-' else ''}{zone}")
    options.append(f'"-Dlog4j2.configurationFile={_log4j(home)}"')
    theirs = settings.conf.get("spark.driver.extraJavaOptions", "")
    if settings.master.startswith("local"):
        options += _SHORT_RUN
        if _MEMORY not in settings.conf:
            options += _START_OF_HEAP
        if not re.search(r"-XX:\+Use\w+GC", theirs):
            # A small heap needs no concurrent collector.
            options.append("-XX:+UseSerialGC")
    return " ".join((*options, theirs)).strip()


def _log4j(home: Path) -> Path:
    """Spark's own log goes to a file: dbt's console is for dbt."""
    path = home / "logs" / "log4j2.properties"
    path.write_text(
        "\n".join(
            (
                "rootLogger.level = warn",
                "rootLogger.appenderRef.file.ref = file",
                "appender.file.type = RollingFile",
                "appender.file.name = file",
                f"appender.file.fileName = {home / 'logs' / 'spark.log'}",
                f"appender.file.filePattern = {home / 'logs' / 'spark.%i.log'}",
                "appender.file.layout.type = PatternLayout",
                "appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n%ex",
                "appender.file.policies.type = SizeBasedTriggeringPolicy",
                "appender.file.policies.size = 10MB",
                "appender.file.strategy.type = DefaultRolloverStrategy",
                "appender.file.strategy.max = 2",
                "",
            )
        )
    )
    return path


def _start_jvm(conf: dict[str, Any], log: Path) -> None:
    """Start the JVM with a log file as its output: what it prints is not for dbt's console."""
    with SparkContext._lock:
        if SparkContext._gateway is None:
            with log.open("ab") as file:
                gateway = launch_gateway(  # type: ignore[no-untyped-call]
                    SparkConf().setAll([(key, str(value)) for key, value in conf.items()]),
                    {"stdout": file, "stderr": subprocess.STDOUT},
                )
            SparkContext._ensure_initialized(gateway=gateway)
