"""The profile of an alluvium target: `type` and `schema`, the rest is optional."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from alluvium.engine import EngineError, java, versions
from alluvium.engine.properties import as_text, has_embedded_metastore, names_s3, other_s3
from alluvium.plan.layout.settings import duration

_CASE_SENSITIVE = "spark.sql.caseSensitive"
_KEEP_WARM = "keep_warm"
_EXECUTORS = "executors_within"
_LONGEST_WAIT = "5 minutes"
_COORDINATE = re.compile(r"^[\w.\-]+:[\w.\-]+:[\w.\-]+$")


def _seconds(wait: Any) -> float:
    return 0.0 if wait in (None, 0, "0") else duration(wait)


def _mistakes_of_names(data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the schema, and with where everything is."""
    schema, database = data.get("schema"), data.get("database")
    if not isinstance(schema, str) or not schema:
        yield "`schema` is missing; accepted: the schema that dbt builds into"
    if database is not None and str(database).lower() != str(schema).lower():
        yield "`database` is not known to Spark; accepted: `schema` alone"
    for key in ("home", "master"):
        if key in data and (not isinstance(data[key], str) or not data[key]):
            yield f"`{key}`: {data[key]!r}; accepted: a text"


def _mistakes_of_engine(data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with Spark's properties, the wait for the home, and further jars."""
    conf = data.get("spark_conf", {})
    if not isinstance(conf, dict):
        yield "`spark_conf`: accepted: a mapping of Spark properties to values"
    else:
        if str(conf.get(_CASE_SENSITIVE)).lower() == "true":
            yield (
                f"`spark_conf` sets {_CASE_SENSITIVE}; accepted: without it. Names of columns that"
                " differ in case alone are one column to Delta"
            )
        yield from _mistakes_of_s3(as_text(conf), data.get("single_writer", False))
    if not isinstance(data.get("shared_disk", False), bool):
        yield f"`shared_disk`: {data['shared_disk']!r}; accepted: true or false"
    yield from _mistakes_of_warm(data, conf)
    try:
        _seconds(data.get("wait", 0))
    except ValueError as error:
        yield f"`wait`: {data['wait']!r}; accepted: 0, or {error}"
    packages = data.get("packages", [])
    if not isinstance(packages, list) or not all(
        isinstance(item, str) and _COORDINATE.match(item) for item in packages
    ):
        yield "`packages`: accepted: a list of `group:artifact:version`"


def _mistakes_of_warm(data: Mapping[str, Any], conf: Any) -> Iterator[str]:
    """What is wrong with the JVM that outlives its command, and the wait for executors."""
    engine = data.get("engine", {})
    if not isinstance(engine, dict) or set(engine) - {_KEEP_WARM, _EXECUTORS}:
        yield (
            f"`engine`: {engine!r}; accepted: a mapping with the keys `{_KEEP_WARM}` and"
            f" `{_EXECUTORS}`"
        )
        return
    try:
        duration(engine.get(_EXECUTORS, _LONGEST_WAIT))
    except ValueError as error:
        yield f"`engine.{_EXECUTORS}`: {engine[_EXECUTORS]!r}; accepted: {error}"
    try:
        seconds = _seconds(engine.get(_KEEP_WARM))
    except ValueError as error:
        yield f"`engine.{_KEEP_WARM}`: {engine[_KEEP_WARM]!r}; accepted: 0, or {error}"
        return
    if seconds and not re.match(r"local(\[|$)", str(data.get("master", "local"))):
        yield (
            f"`engine.{_KEEP_WARM}` beside `master: {data['master']}`; accepted: with a `local`"
            " master. A cluster's cores would be held between commands"
        )
    if seconds and isinstance(conf, dict) and not has_embedded_metastore(as_text(conf)):
        yield (
            f"`engine.{_KEEP_WARM}` beside a metastore of its own in `spark_conf`; accepted: with"
            " the embedded one. Elsewhere two commands may run at once"
        )


def _mistakes_of_s3(conf: Mapping[str, str], single_writer: Any) -> Iterator[str]:
    """What is wrong with the places on S3, and with who writes there."""
    yield from other_s3(conf)
    if not isinstance(single_writer, bool):
        yield f"`single_writer`: {single_writer!r}; accepted: true or false"
    elif single_writer and not names_s3(conf):
        yield "`single_writer` is for tables on S3, and `spark_conf` names no place of s3a://"


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
        accepted = sorted(f.name for f in fields(cls) if f.name != "database")
        mistakes = [
            f"`{key}` is not a key of an alluvium target"
            for key in data
            if key not in (*accepted, "database")
        ]
        mistakes += [*_mistakes_of_names(data), *_mistakes_of_engine(data)]
        if mistakes:
            raise DbtRuntimeError(
                "The alluvium target of the profile is not right:\n"
                + "\n".join(f"  - {mistake}" for mistake in mistakes)
                + f"\nAccepted keys: type, threads, {', '.join(accepted)}."
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
