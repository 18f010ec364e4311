"""What an exception of Spark says: one line of cause, and where in the SQL or the Python it is.

Spark wraps what went wrong, shows the plan or the whole statement below it, and ends with Java's
stack. Here the deepest cause comes first, in one line; `full_text` has the rest, for a log.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from alluvium.paths import LOCAL, Place


class Thrown(NamedTuple):
    """One exception of a chain: its class, without the package, and its message."""

    kind: str
    message: str


@dataclass(frozen=True)
class Cause:
    """Why something failed.

    Attributes:
        text: The cause, in one line.
        line: The line of the statement that Spark means, from 1; None where it names none.
        fragment: The text of that line, as far as Spark shows it.
        frames: Lines of a function that failed in a Python worker, outermost first:
            ``models/x.py:6 in divide``.
    """

    text: str
    line: int | None = None
    fragment: str = ""
    frames: tuple[str, ...] = ()


# Says that something failed, not why: that is in what it was caused by.
_WRAPS = re.compile(
    r"\[(?:TASK_WRITE_FAILED|STREAM_FAILED|FOREACH_BATCH_USER_FUNCTION_ERROR|FAILED_EXECUTE_UDF)\b"
    r"|(?:Job|Writing job) aborted|Exception thrown in awaitResult|Unable to close resource"
    r"|An exception was raised by the Python Proxy"
    r"|Multiple failures in stage materialization|(?:[\w$]+\.)+[A-Z][\w$]*(?:Exception|Error): "
)
_GO_ON = ("Reason: ", "Invalid column names: ")
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\] ")
_TASK = re.compile(r"Lost task \S+ in stage .*? \(TID \d+\)(?: \(.*?\))?: ([\w.$]+): ?", re.DOTALL)
_CAUSED_BY = re.compile(r"^Caused by: ([\w.$]+)(?:: |$)", re.MULTILINE)
_STACK = re.compile(r"\n\s*at (?:[\w.$/]+\(|\[)|\n\s*JVM stacktrace:")
_STATE = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}\b")
_SQL = re.compile(r"\n+== [^\n]+ ==\n.*", re.DOTALL)
_PLACES = (
    re.compile(r"== SQL[^\n]*\(line (\d+), position \d+\) ==\n(?P<fragment>[^\n]*)"),
    re.compile(r"; line (\d+) pos \d+"),
    re.compile(r"\(line (\d+), pos \d+\)"),
)
_PLACE = re.compile(r";? *(?:line \d+ pos \d+|\(line \d+, pos \d+\))\s*;?|;\s*$")
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+), in (.+)$', re.MULTILINE)

_READING = re.compile(r"Encountered error while reading file (.+?)\.(?=\s|$)")
_NOT_PARQUET = re.compile(r"(\S+) is not a Parquet file")
_NO_ROOM = re.compile(r"No space left on device|File too large|Disk quota exceeded")
_WRITING = re.compile(r"while writing rows to (.+?)\.(?=\s|$)")
_DENIED = re.compile(r"^(.+) \(Permission denied\)$|^Permission denied", re.MULTILINE)
_NO_MEMORY = re.compile(r"Java heap space|GC overhead limit exceeded|OutOfMemoryError")
_SHUT_DOWN = re.compile(r"SparkContext was shut down")
_ENDED = Cause(
    "Spark's Java process has ended: its last words are in logs/spark.log. If they say "
    "OutOfMemoryError, raise `spark.driver.memory` in `spark_conf` of the profile"
)
# What readers say of a file that ends too early, and of one that is not what its name says.
_CUT_OFF = re.compile(r"unexpected end of|premature EOF", re.IGNORECASE)
_CHECKSUM = re.compile(r"Checksum error")
_FOOTER = re.compile(r"can not read class org.apache.parquet|Could not read footer")
_TO_VOID = re.compile(
    r"(?:CAST\((?P<column>[^()]+) AS VOID\).*?)?cannot (?:safely )?cast (?:`(?P<name>[^`]+)` )?"
    r"\"(?P<type>[^\"]+)\" to \"VOID\"",
    re.DOTALL | re.IGNORECASE,
)
# Delta's words of an insert, with both schemas as trees.
_WAS_VOID = re.compile(
    r"Table schema:\s.*?\|-- (?P<column>[^\n:]+): void\b.*?"
    r"Data schema:\s.*?\|-- (?P=column): (?P<type>(?!void)\w+)",
    re.DOTALL,
)
# Of a column whose type in a whole file is not one that is asked for.
_OTHER_TYPE = re.compile(
    r"COLUMN_DATA_TYPE_MISMATCH|Data type mismatches|PARQUET_CONVERSION_FAILURE|is not a group"
)
_CODEC = re.compile(r"ClassNotFoundException:? \S*Codec")
_DATA_FILE = re.compile(r"part-\d{5}-[0-9a-f]{8}-[0-9a-f-]{27}")
# What Delta and Java say of a log or a deletion vector that is damaged, whatever they advise.
_DAMAGED = re.compile(
    r"\[DELTA_(?:CHECKPOINT_(?:NON_EXIST_TABLE|SNAPSHOT_MISMATCH)|DELETION_VECTOR_\w+"
    r"|LOG_FILE_NOT_FOUND|METADATA_ABSENT_EXISTING_CATALOG_TABLE|NO_RECREATABLE_HISTORY_FOUND"
    r"|MISSING_PART_FILES|STATE_RECOVER_ERROR|(?P<gone>TABLE_NOT_FOUND)|TRUNCATED_TRANSACTION_LOG"
    r"|TXN_LOG_FAILED_INTEGRITY|VERSIONS_NOT_CONTIGUOUS)\]|/_delta_log/\S|deletion_vector_\S"
)
# Of a Python on executors that has another version, is not there, or is without what it needs.
_OTHER_PYTHON = re.compile(
    r"PYTHON_VERSION_MISMATCH|Cannot run program \"(?P<program>[^\"]*python[^\"]*)\""
    r"|PACKAGE_NOT_INSTALLED|No module named '?(?P<module>pyspark|numpy|pandas|pyarrow)(?![\w.])"
)
_NO_S3 = re.compile(r"No FileSystem for scheme \"?(?P<scheme>s3n?)\b|S3AFileSystem not found")
_INLINE = re.compile(r"DeletionVectorDescriptor\(i,")
MENDS = "`dbt run-operation alluvium.fsck` says what is damaged, and `alluvium.recover` mends it"


def explain(error: BaseException) -> Cause:
    """Why an exception was raised, of Java's through py4j or of Python's."""
    java = _java(error)
    if java is not None:
        return explained([Thrown(_kind(one), str(one.getMessage() or "")) for one in chain(java)])
    if isinstance(error, Py4JNetworkError):
        return _ENDED
    return explained([Thrown(type(error).__name__, str(error))])


def explained(chain: Iterable[Thrown]) -> Cause:
    """Why something failed, of what was thrown: the outermost first, each with its cause behind."""
    thrown = list(_apart(chain))
    for special in (
        _no_room,
        _no_memory,
        _ending,
        _no_s3,
        _broken_file,
        _untyped,
        _no_python,
        _python,
        _vacuum,
    ):
        found = special(thrown)
        if found is not None:
            return found
    told = [(one, text) for one in thrown if (text := _sentence(one))]
    why = [(one, text) for one, text in told if not _WRAPS.match(text)] or told
    deepest = next(
        (at for at in reversed(range(len(why))) if _CONDITION.match(why[at][1])), len(why) - 1
    )
    if deepest < 0:
        return Cause("it is not known why")
    one, text = why[deepest]
    for _, more in why[deepest + 1 :]:
        if more not in text:
            text = f"{text.removesuffix('.')}: {more}"
    if damaged := _said(thrown, _DAMAGED):
        where = "If a model's table was there: " if damaged["gone"] else ""
        text = f"{text.removesuffix('.')}. {where}{MENDS}"
    line, fragment = _place(one.message)
    return Cause(text, line, fragment)


def reason(error: Exception) -> str:
    """Why an exception was raised, in one line."""
    text, kind = explain(error).text, type(error).__name__
    known = _java(error) is not None or _CONDITION.match(text) or text.startswith(kind)
    return text if known else f"{kind}: {text}"


def first_line(error: BaseException) -> str:
    """The first line of what an exception says: of Java's, where py4j tells that."""
    text = str(getattr(error, "java_exception", None) or error)
    return text.strip().splitlines()[0].rstrip(".")


def full_text(error: BaseException) -> str:
    """All that an exception has to say, with Python's stack and Java's: for a log."""
    python = "".join(traceback.format_tb(error.__traceback__))
    java = getattr(error, "_stackTrace", "")
    return "\n".join(filter(None, [f"{type(error).__name__}: {error}", python, java]))


def is_cancelled(session: SparkSession, error: Exception) -> bool:
    """Whether somebody cancelled the job that failed, or stopped Spark."""
    context = session.sparkContext._jsc  # None after SparkSession.stop
    if context is None or context.sc().isStopped():
        return True
    return any("SPARK_JOB_CANCELLED" in str(one.getMessage()) for one in chain(_java(error)))


def chain(error: Any) -> Iterator[Any]:
    """A Java exception and each of its causes."""
    while error is not None:
        yield error
        error = error.getCause()


def _java(error: BaseException) -> Any:
    """The Java exception behind an exception; pyspark keeps that of those that it knows."""
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def _kind(java: Any) -> str:
    return str(java.getClass().getSimpleName())


def _apart(chain: Iterable[Thrown]) -> Iterator[Thrown]:
    """Each exception, with those that a message only quotes: of a task that ran elsewhere."""
    for kind, message in chain:
        parts = _CAUSED_BY.split(message)
        head = _STACK.split(parts[0])[0]
        yield Thrown(kind, head)
        task = _TASK.search(head)
        if task:
            yield Thrown(task[1].rsplit(".", 1)[-1], head[task.end() :])
        for name, text in zip(parts[1::2], parts[2::2], strict=True):
            yield Thrown(name.rsplit(".", 1)[-1], _STACK.split("\n" + text)[0].strip())


def _sentence(one: Thrown) -> str:
    """What an exception says, in one line: without the plan, the statement and the place."""
    lines = [line.strip() for line in _SQL.sub("", "\n" + one.message).strip().splitlines()]
    text = lines[0] if lines else ""
    for line in lines[1:]:
        # Delta breaks its sentences, and lists the values of a row, or the names, below one.
        goes_on = text[-1:] not in ".;)" and not re.search(r" pos \d+;?$", text)
        if not line or not (goes_on or line.startswith(_GO_ON)):
            break
        text = f"{text} {line}"
    text = " ".join(_PLACE.sub("", _STATE.sub("", text)).split())
    if not text:
        return one.kind
    # Of a class that is missing, say, Java tells no more than the name.
    return text if " " in text else f"{one.kind}: {text}"


def _place(message: str) -> tuple[int | None, str]:
    for place in _PLACES:
        found = place.search(message)
        if found:
            return int(found[1]), (found.groupdict().get("fragment") or "").strip()
    return None, ""


def _no_room(thrown: list[Thrown]) -> Cause | None:
    said = _said(thrown, _NO_ROOM)
    if said is None:
        return None
    where = _said(thrown, _WRITING)
    place = f" to write {_shown(where[1])}" if where else ""
    return Cause(f"no room{place}: {said[0]}. Make room on that disk and run again")


def _no_memory(thrown: list[Thrown]) -> Cause | None:
    said = _said(thrown, _NO_MEMORY) or next(
        (re.match(".*", one.message) for one in thrown if one.kind == "OutOfMemoryError"), None
    )
    if said is None:
        return None
    return Cause(
        f"Spark's memory is too small ({said[0]}). Raise `spark.driver.memory` in `spark_conf` of "
        "the profile, or run fewer `threads`"
    )


def _ending(thrown: list[Thrown]) -> Cause | None:
    """Of a JVM that a task without memory ends, whoever hears of it first."""
    return _ENDED if _said(thrown, _SHUT_DOWN) else None


def _no_s3(thrown: list[Thrown]) -> Cause | None:
    """Of a place on S3 that the profile does not speak of, or of another scheme."""
    said = _said(thrown, _NO_S3)
    if said is None:
        return None
    if said["scheme"]:
        return Cause(f"{said['scheme']}:// is not read here; accepted: s3a://, with the same path")
    return Cause(
        "s3a:// needs its jars, which come where `spark_conf` of the profile names S3. Accepted: a"
        " `spark.sql.warehouse.dir` there, or a `spark.hadoop.fs.s3a.*` such as"
        " `spark.hadoop.fs.s3a.endpoint.region`"
    )


def _untyped(thrown: list[Thrown]) -> Cause | None:
    """Of a column that was made of NULLs alone, and gets its first value."""
    said = _said(thrown, _TO_VOID) or _said(thrown, _WAS_VOID)
    if said is None:
        return None
    name = said["column"] or said.groupdict().get("name")
    what = f"column {name}" if name else "a column"
    kind = said["type"].upper()
    change = "`on_schema_change: append_new_columns` or `sync_all_columns`, by which it takes that"
    takes = "" if kind.startswith(("ARRAY", "MAP", "STRUCT")) else f"{change} type, or "
    return Cause(
        f"{what} has no type in the table (VOID), for it was made of NULLs alone, and the batch "
        f"has {kind}. Accepted: {takes}--full-refresh"
    )


def _no_python(thrown: list[Thrown]) -> Cause | None:
    """Of executors whose Python cannot run a function of this process."""
    said = _said(thrown, _OTHER_PYTHON)
    if said is None:
        return None
    if said["program"]:
        wrong = f"executors do not have {said['program']}"
    elif said["module"]:
        wrong = f"the executors' Python has no {said['module']}"
    elif "VERSION" in said[0]:
        wrong = "the executors' Python has another version"
    else:
        wrong = "the executors' Python has not all that is needed"
    here = ".".join(map(str, sys.version_info[:2]))
    return Cause(
        f"{wrong}. Accepted: Python {here}, as here, with numpy, pandas and pyarrow. The variable"
        " PYSPARK_PYTHON of this command names it"
    )


def _python(thrown: list[Thrown]) -> Cause | None:
    """Of a function that failed in a Python worker: its last words, and its lines."""
    for one in reversed(thrown):
        _, found, trace = one.message.partition("Traceback (most recent call last):")
        if found and not _WRAPS.match(one.message):
            words = [line for line in _STATE.sub("", trace).splitlines() if line[:1].strip()]
            frames = tuple(
                f"{file}:{line} in {name}"
                for file, line, name in _FRAME.findall(trace)
                if "site-packages" not in file and "/pyspark" not in file
            )
            return Cause(words[-1] if words else _sentence(one), frames=frames)
    return None


def _broken_file(thrown: list[Thrown]) -> Cause | None:
    """Of a file that cannot be read: its name, what is wrong with it, what to do first."""
    found = _said(thrown, _READING) or _said(thrown, _NOT_PARQUET)
    if found is None:
        return None
    path = _shown(found[1])
    everything = "\n".join(f"{one.kind} {one.message}" for one in thrown)
    needed = "whole under its name"
    if _DENIED.search(everything) or "AccessDenied" in everything:
        return Cause(
            f"{path} cannot be read: permission denied. Let this user read it, and run again"
        )
    if "FILE_NOT_EXIST" in everything or "FileNotFoundException" in everything:
        wrong = "is gone"
    elif _CHECKSUM.search(everything):
        wrong = "is not what its checksum (the `.crc` file beside it) says"
    elif _NOT_PARQUET.search(everything):
        wrong = "is not a Parquet file"
    elif _FOOTER.search(everything):
        wrong = "is broken: its footer cannot be read"
    elif "/_delta_log/" in path:
        wrong = "is broken"
    elif (cut := _said(thrown, _CUT_OFF)) is not None:
        wrong = f"is cut off ({cut.string.strip().splitlines()[0]})"
    else:
        last = next(text for one in reversed(thrown) if not _WRAPS.match(text := _sentence(one)))
        needed = "as the source's `format` and its name say"
        wrong = f"cannot be read: {_READING.sub('', last).strip(' .') or 'it is not known why'}"
    return Cause(f"{path} {wrong}. {_first_aid(path, everything, needed)}")


def _first_aid(path: str, everything: str, needed: str) -> str:
    """What to do first; needed: how the file would have to be."""
    if "/_delta_log/" in path:
        return f"It is a part of the log of the table {path.split('/_delta_log/')[0]}: {MENDS}"
    if _CODEC.search(everything):
        aid = "deliver the file with another compression, such as zstd"
    elif _OTHER_TYPE.search(everything):
        aid = "give the source's `schema` the type that the file has, or deliver the file with it"
    else:
        aid = f"deliver it {needed}, or take it away, and run again"
    if _DATA_FILE.search(path):  # Spark gives what lands such names too
        return f"If it is a table's: {MENDS}, with the progress of merges. Else {aid}"
    return aid[0].upper() + aid[1:]


def _vacuum(thrown: list[Thrown]) -> Cause | None:
    """Of Delta's VACUUM, which says no more than what it did not expect."""
    if _said(thrown, _INLINE) is None:
        return None
    return Cause(
        "Delta's VACUUM cannot read deletion vectors that stand in the table's log. The next"
        " publish puts those of a published table into files, and `alluvium.recover` those of any"
        " table"
    )


def _said(thrown: list[Thrown], pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What the deepest exception says that matches."""
    return next((found for one in reversed(thrown) if (found := pattern.search(one.message))), None)


def _shown(path: str) -> str:
    """A path as people write it."""
    return Place.of_uri(path).shown if path.startswith(f"{LOCAL}/") else path
