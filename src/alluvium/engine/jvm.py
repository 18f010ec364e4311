"""Scala over py4j: singletons, sequences, and the session that Delta asks its thread for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Reversible, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial, reduce
from typing import Any, TypeVar

from py4j.java_gateway import JavaPackage
from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from alluvium.engine.handles import JavaFunctions, JavaSeq
from alluvium.engine.internals import DATA_TYPE, FUNCTIONS, HADOOP_FS_RELATION, Internal

T = TypeVar("T")
# Lines that come over py4j at once.
_FEW = 32


class _Names:
    """Java's names below a package, each asked for once.

    Py4j asks the JVM for each part of a name, and for a part that is no class Java looks into every
    jar.
    """

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        found = _Names(found) if isinstance(found, JavaPackage) else found
        setattr(self, name, found)
        return found


def of(session: SparkSession) -> Any:
    """The gateway's view of the JVM."""
    return _names(session._jvm)


@lru_cache(maxsize=4)
def _names(jvm: Any) -> _Names:
    return _Names(jvm)


def functions(session: SparkSession) -> JavaFunctions:
    """Spark's functions of columns, as Scala has them."""
    found: JavaFunctions = internal(session, FUNCTIONS)
    return found


@lru_cache(maxsize=64)
def java_class(jvm: Any, name: str) -> Any:
    """A class by its name, for its constructors and static members.

    Args:
        jvm: the gateway's view of the JVM.
        name: with its package.
    """
    return reduce(getattr, name.split("."), jvm)


def own_class(session: SparkSession, name: str) -> Any:
    """A class of `own_jar` as a `java.lang.Class`: py4j's own class loader does not know it."""
    java = of(session)
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    return java.java.lang.Class.forName(name, True, loader)


def call_own(session: SparkSession, name: str, method: str, *arguments: Any) -> Any:
    """What a static method of a class of `own_jar` gives; it has no other one of this name."""
    methods = own_class(session, name).getMethods()
    found = next(one for one in methods if one.getName() == method)
    return found.invoke(None, array(session, arguments))


def new_own(session: SparkSession, name: str, *arguments: object) -> Any:
    """An instance of a class of `own_jar`, by its one constructor."""
    [constructor] = own_class(session, name).getConstructors()
    return constructor.newInstance(array(session, arguments))


def register_own(
    session: SparkSession,
    function: str,
    name: str,
    returns: DataType,
    *arguments: object,
    conf: Mapping[str, str] | None = None,
) -> None:
    """Register a function of SQL that a class of `own_jar` is.

    Args:
        arguments: of its constructor, behind Hadoop's configuration.
        conf: Hadoop's settings beside those of the session.
    """
    hadoop = session._jsparkSession.sessionState().newHadoopConf()
    for key, value in (conf or {}).items():
        hadoop.set(key, value)
    made = new_own(session, name, hadoop, *arguments)
    session._jsparkSession.udf().register(function, made, data_type(session, returns))


def data_type(session: SparkSession, kind: DataType) -> Any:
    """Spark's own of a type."""
    return internal(session, DATA_TYPE).fromJson(kind.json())


def array(session: SparkSession, values: Sequence[object]) -> Any:
    """A Java array of objects."""
    gateway: Any = session.sparkContext._gateway
    made = gateway.new_array(of(session).java.lang.Object, len(values))
    for place, value in enumerate(values):
        made[place] = value
    return made


def internal(session: SparkSession, its: Internal) -> Any:
    """A class for its constructors and static members, or a Scala `object`."""
    get = _scala_object if its.name.endswith("$") else java_class
    return get(of(session), its.name)


@lru_cache(maxsize=64)
def _scala_object(jvm: Any, name: str) -> Any:
    # Py4j's own class loader does not know jars that were added later.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    cls = jvm.java.lang.Class.forName(name, True, loader)
    return cls.getField("MODULE$").get(None)


def scala_seq(session: SparkSession, items: Iterable[Any]) -> Any:
    """An immutable Scala `Seq` of the items."""
    collected = java_class(of(session), "java.util.ArrayList")()
    for item in items:
        collected.add(item)
    return as_scala(session, collected)


def as_scala(session: SparkSession, collected: Any) -> Any:
    """An immutable Scala `Seq` of what a Java collection has."""
    converters = java_class(of(session), "scala.jdk.javaapi.CollectionConverters")
    return converters.asScala(collected).toSeq()


def items(scala: Any) -> list[Any]:
    """The elements of a Scala `Seq`."""
    return [scala.apply(place) for place in range(scala.size())]


class _Lines:
    """Lines of which the first, or the last, comes alone, until more are asked for."""

    def __init__(self, scala: JavaSeq) -> None:
        self._scala = scala

    @cached_property
    def _all(self) -> list[str]:
        return _split(self._scala)

    def __iter__(self) -> Iterator[str]:
        yield str(self._scala.head())
        yield from self._all[1:]

    def __reversed__(self) -> Iterator[str]:
        last = str(self._scala.last())
        if last:  # some engines end a file with an empty line
            yield last
        yield from reversed(self._all[:-1] if last else self._all)


def lines(scala: JavaSeq) -> Reversible[str]:
    """The elements of a Scala `Seq` of lines, such as those of a log; empty ones are left out."""
    return _Lines(scala) if scala.size() > _FEW else _split(scala)


def _split(scala: JavaSeq) -> list[str]:
    # As one text: py4j would ask for one after another. By this sign alone: the texts may hold
    # others that end a line.
    return [one for one in str(scala.mkString("\n")).split("\n") if one]


def relations(plan: Any) -> Iterator[Any]:
    """The files and tables that a logical plan reads, those of its subqueries included."""
    for part in (plan, *items(plan.subqueriesAll())):
        for leaf in items(part.collectLeaves()):
            if leaf.nodeName() == "LogicalRelation":
                yield leaf


def reads_files(session: SparkSession, relation: Any) -> bool:
    """Whether a `LogicalRelation`'s relation is one over files, as Delta's are."""
    kinds = of(session).py4j.reflection.TypeUtil
    # Delta's are of a subclass without a name.
    return bool(kinds.isInstanceOf(HADOOP_FS_RELATION.name, relation))


class SessionCopy:
    """A copy of a session: its views, functions and settings; what is set on it stays there."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.spark = session._jsparkSession.cloneSession()
        self.jvm = of(session)
        self.functions = functions(session)
        self.conf = self.spark.conf()
        self.internal = partial(internal, session)
        self.seq = partial(scala_seq, session)
        self.none = java_class(self.jvm, "scala.Option").empty()

    def set(self, key: str, value: object) -> None:
        """A Spark setting of the copy alone."""
        self.conf.set(key, str(value))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Delta takes settings from the thread's session."""
        with active(self.session, self.spark):
            yield


def activate(session: SparkSession) -> None:
    """Make a session its thread's: Delta asks for that. SQL does it, calls past SQL do not."""
    java = SparkSession._get_j_spark_session_class(of(session))
    java.setActiveSession(session._jsparkSession)


def copied(session: SparkSession) -> SparkSession:
    """A session with the views, functions and settings of another one, and its own from then on."""
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


@contextmanager
def active(session: SparkSession, java_session: Any) -> Iterator[None]:
    """Make `java_session` this thread's session, for calls past SQL; SQL would set its own."""
    spark = SparkSession._get_j_spark_session_class(of(session))
    before = spark.getActiveSession()
    spark.setActiveSession(java_session)
    try:
        yield
    finally:
        if before.isDefined():
            spark.setActiveSession(before.get())
        else:
            spark.clearActiveSession()


def beside(
    pool: Executor, session: SparkSession, task: Callable[[], T], java_session: Any = None
) -> Future[T]:
    """Run `task` in a thread of `pool`, in this thread's job group and scheduler pool.

    java_session: a copy of the session that is active there; the session itself if not given.
    """

    def run() -> T:
        with active(session, session._jsparkSession if java_session is None else java_session):
            return task()

    return pool.submit(inheritable_thread_target(session)(run))
