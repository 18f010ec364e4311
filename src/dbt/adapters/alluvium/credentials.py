"""The profile of an alluvium target: `type` and `schema`, the rest is optional."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from alluvium import schema
from alluvium.engine import EngineError, java, versions
from alluvium.engine.properties import as_text, has_embedded_metastore, names_s3, other_s3
from alluvium.plan.layout.settings import duration

_CASE_SENSITIVE = "spark.sql.caseSensitive"
_KEEP_WARM = "keep_warm"
_EXECUTORS = "executors_within"
_LONGEST_WAIT = "5 minutes"


def _seconds(wait: Any) -> float:
    return 0.0 if wait in (None, 0, "0") else duration(wait)


def _across(data: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Mistakes that no key makes by itself: `data` as it was written, `right` without the wrong
    values."""
    database = data.get("database")
    if database is not None and str(database).lower() != str(data.get("schema")).lower():
        yield "database: not known to Spark; accepted: `schema` alone"
    conf = as_text(right.get("spark_conf", {}))
    if conf.get(_CASE_SENSITIVE, "").lower() == "true":
        yield (
            f"spark_conf: it sets {_CASE_SENSITIVE}; accepted: without it. Names of columns that"
            " differ in case alone are one column to Delta"
        )
    yield from other_s3(conf)
    is_read = "spark_conf" in right or "spark_conf" not in data
    if right.get("single_writer") and is_read and not names_s3(conf):
        yield "single_writer: it is for tables on S3, and `spark_conf` names no place of s3a://"
    if not _seconds(right.get("engine", {}).get(_KEEP_WARM)):
        return
    if not re.match(r"local(\[|$)", right.get("master", "local")):
        yield (
            f"engine.{_KEEP_WARM}: it stands beside `master: {right['master']}`; accepted: with a"
            " `local` master. A cluster's cores would be held between commands"
        )
    if not has_embedded_metastore(conf):
        yield (
            f"engine.{_KEEP_WARM}: it stands beside a metastore of its own in `spark_conf`;"
            " accepted: with the embedded one. Elsewhere two commands may run at once"
        )


@dataclass
class AlluviumCredentials(Credentials):
    """Settings of a target.

    schema: the schema that dbt builds into.
    home: folder of everything embedded (jars, metastore, warehouse, checkpoints); a relative
        path is taken from the project folder.
    master: Spark master URL.
    spark_conf: Spark properties, laid over ours.
    packages: Maven coordinates (`group:artifact:version`) of further jars, say Kafka's.
    single_writer: nobody else writes to the tables on S3, so their commits need not be kept apart.
    wait: how long a command waits for another one that has the home open, such as `10 minutes`.
    engine: `keep_warm`, how long the JVM outlives its command, for the next one, such as
        `15 minutes`; `executors_within`, how long a cluster has for its first executor.
    shared_disk: each machine of a cluster sees the paths of this one.
    """

    database: str | None = None  # type: ignore[assignment]
    schema: str = ""
    home: str = ".alluvium"
    master: str = "local[*]"
    spark_conf: dict[str, Any] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    single_writer: bool = False
    wait: str | int = 0
    engine: dict[str, Any] = field(default_factory=dict)
    shared_disk: bool = False

    @property
    def type(self) -> str:
        return "alluvium"

    @property
    def unique_field(self) -> str:
        return self.home

    @classmethod
    def validate(cls, data: Any) -> None:
        """Refuse unknown keys and wrong values, all of them at once."""
        given = {key: value for key, value in data.items() if key != "database"}
        rule = schema.settings()["profile"]["target"]
        across = _across(data, schema.right(given, rule))
        mistakes = [*schema.mistakes("target", given, rule), *(f"target.{one}" for one in across)]
        if mistakes:
            raise DbtRuntimeError(
                "The alluvium target of the profile is not right:\n"
                + "\n".join(f"  - {mistake}" for mistake in mistakes)
            )

    @property
    def wait_seconds(self) -> float:
        return _seconds(self.wait)

    @property
    def warm_seconds(self) -> float:
        return _seconds(self.engine.get(_KEEP_WARM))

    @property
    def executor_seconds(self) -> float:
        return duration(self.engine.get(_EXECUTORS, _LONGEST_WAIT))

    def __post_init__(self) -> None:
        # Spark knows one namespace, as in dbt-spark: database stays unset.
        self.database = None  # type: ignore[assignment]

    def _connection_keys(self) -> tuple[str, ...]:
        return ("schema", "home", "master", "packages")

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """What `dbt debug` prints: the target, and what it runs on."""
        yield from super().connection_info(with_aliases=with_aliases)
        if with_aliases:
            return  # the `target` of the Jinja context: asked at every parse, the profile is all
        yield "warehouse", self.spark_conf.get("spark.sql.warehouse.dir", f"{self.home}/warehouse")
        try:
            installed, runtime = versions.check(), java.check()
        except EngineError as error:
            # `dbt debug` goes on to the connection test, which fails with the whole message.
            yield "engine", f"not ready: {str(error).splitlines()[0]}"
            return
        yield "spark", installed.pyspark
        yield "delta", installed.delta
        yield "java", f"{runtime.version} ({runtime.path})"
