"""What a Spark context is started from, and the properties that this makes."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from alluvium.engine import homes, jars, log_store, own_jar, warm, zone
from alluvium.engine.internals import DELTA_CATALOG
from alluvium.engine.properties import METASTORE_URL, has_embedded_metastore, names_s3

_MEMORY = "spark.driver.memory"
WAREHOUSE = "spark.sql.warehouse.dir"

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
    keep_warm: seconds that the JVM outlives its command, for the next one of the home to attach
        to; 0: it ends with it. Another number is no other context.
    executors_within: seconds in which a cluster has to give a first executor.
    """

    home: Path
    master: str = "local[*]"
    conf: dict[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    single_writer: bool = False
    wait: float = field(default=0.0, compare=False)
    keep_warm: float = field(default=0.0, compare=False)
    executors_within: float = field(default=300.0, compare=False)

    @property
    def is_local(self) -> bool:
        """Whether all of Spark runs on this machine."""
        return self.master.startswith("local")

    @property
    def warehouse(self) -> str:
        """Where tables go that are sent nowhere else; a path without its file system is Hadoop's
        default one's."""
        place = self.conf.get(WAREHOUSE, str(self.home / "warehouse"))
        default = self.conf.get("spark.hadoop.fs.defaultFS", "")
        return place if ":/" in place else f"{default.rstrip('/')}{place}"

    @property
    def embedded_metastore(self) -> bool:
        return has_embedded_metastore(self.conf)


def conf_of(settings: Settings, paths: list[Path]) -> dict[str, str]:
    """Spark's properties: ours, and laid over them the profile's.

    Args:
        paths: the jars.
    """
    home = settings.home
    cores = os.cpu_count() or 2
    conf = {
        "spark.app.name": "alluvium",
        "spark.master": settings.master,
        "spark.jars": ",".join(map(str, paths)),
        "spark.sql.extensions": own_jar.EXTENSIONS,
        "spark.sql.catalog.spark_catalog": DELTA_CATALOG.name,
        WAREHOUSE: str(home / "warehouse"),
        # Buckets, literals and freshness must not depend on where the process runs.
        zone.KEY: zone.UTC,
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
        # In Spark's own form, INT96, others take times for nanoseconds: the year 9999 is 1816 then.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Nodes that run side by side share the cores; their tiers say how.
        "spark.scheduler.mode": "FAIR",
        # The JVM never compiles methods above its 8000 bytes. A merge with 64 ranges takes three
        # times as long in such a method as without one.
        "spark.sql.codegen.hugeMethodLimit": "8000",
        "spark.ui.enabled": "false",
        # Spark keeps what it knows of thousands for that page; a JVM may run many commands.
        "spark.ui.retainedJobs": "200",
        "spark.ui.retainedStages": "200",
        "spark.sql.ui.retainedExecutions": "200",
        "spark.ui.showConsoleProgress": "false",
    }
    conf |= _metastore(settings, paths)
    if settings.is_local:
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
    if names_s3(settings.conf):
        # Delta notes a VACUUM in the logs of most stores, not of this one. Status reads them.
        conf["spark.databricks.delta.vacuum.logging.enabled"] = "true"
    conf |= zone.for_reads(settings.conf.get(zone.KEY, zone.UTC))
    conf |= settings.conf
    conf["spark.driver.extraJavaOptions"] = _java_options(settings, conf[zone.KEY])
    return conf


def _metastore(settings: Settings, paths: list[Path]) -> dict[str, str]:
    """How the metastore is opened: the home's own, or the profile's."""
    if not settings.embedded_metastore:
        drivers = [str(jar) for jar in paths if jars.is_jdbc_driver(jar)]
        # Java gives the metastore's client only those drivers that are on the JVM's class path.
        return {"spark.driver.extraClassPath": os.pathsep.join(drivers)} if drivers else {}
    return {
        METASTORE_URL: f"jdbc:derby:;databaseName={homes.database(settings.home)};create=true",
        # Between rounds the database is closed, and no thread of a pool may open it meanwhile.
        "spark.hadoop.datanucleus.connectionPool.minIdle": "0",
        # What it refuses (a column's comment above 256 characters, say) it refuses each time. Hive
        # would ask ten times, two seconds apart, before Spark writes the table in another way.
        "spark.hadoop.hive.hmshandler.retry.attempts": "3",
        "spark.hadoop.hive.hmshandler.retry.interval": "100ms",
    }


def _java_options(settings: Settings, own: str) -> str:
    """Ours, then the profile's: of a flag given twice the JVM takes the later one."""
    home = settings.home
    options = [f'"-Dderby.system.home={home / "metastore"}"']
    # Delta writes the time of a `TIMESTAMP AS OF` in the JVM's zone and reads it in the session's.
    options.append(f"-Duser.timezone={'GMT' if own[:1] in '+-' else ''}{own}")
    options.append(f'"-Dlog4j2.configurationFile={_log4j(home)}"')
    theirs = settings.conf.get("spark.driver.extraJavaOptions", "")
    if settings.is_local:
        options += _SHORT_RUN
        if _MEMORY not in settings.conf:
            options += _START_OF_HEAP
        if not re.search(r"-XX:\+Use\w+GC", theirs):
            # A small heap needs no concurrent collector.
            options.append("-XX:+UseSerialGC")
    if settings.keep_warm:
        # Whoever caught it: what is in a JVM that ran out of memory is not known.
        note = shlex.quote(str(home / warm.NO_MEMORY))
        options.append(f'"-XX:OnOutOfMemoryError=touch {note}"')
    return " ".join((*options, theirs)).strip()


def _log4j(home: Path) -> Path:
    """Spark's own log goes to a file: dbt's console is for dbt."""
    path = home / "logs" / "log4j2.properties"
    template = Path(__file__).with_name(path.name).read_text(encoding="utf-8")
    path.write_text(template.replace("{logs}", str(path.parent)))
    return path
