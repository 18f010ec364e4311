"""`meta.alluvium_stream` of a dbt source: what it may say, and every mistake in it at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from alluvium import schema
from alluvium.ingest import options as reader
from alluvium.ingest.options import ARCHIVE, CLEANS, FILE_FORMATS, HEADER
from alluvium.marks import STREAM_NOTE
from alluvium.paths import LOCAL, SYSTEM, Place

META = STREAM_NOTE
# The formats that a key is used by; the other keys are used by all.
_USED_BY = {
    "path": FILE_FORMATS,
    "topic": ("kafka",),
    "schema": tuple(name for name in FILE_FORMATS if name != "text"),
    "max_files_per_trigger": FILE_FORMATS,
    "max_bytes_per_trigger": FILE_FORMATS,
}
_SERVERS = "kafka.bootstrap.servers"
_WAIT = re.compile(r"\s*(\d+)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class SpecError(ValueError):
    """The stream of a source is described wrongly; ``mistakes`` holds every one of them."""

    def __init__(self, source: str, mistakes: list[str]):
        self.source = source
        self.mistakes = mistakes
        lines = "".join(f"\n  - {mistake}" for mistake in mistakes)
        super().__init__(f"source {source}: meta.alluvium_stream is wrong:{lines}")


class StreamError(RuntimeError):
    """A streaming table cannot be built as described; the message says what is accepted."""


@dataclass(frozen=True)
class EnvVar:
    """A value that the run reads from the environment, so that no file ever holds it."""

    name: str


@dataclass(frozen=True)
class Feed:
    """A stream whose paths and options are known; options never show in its repr.

    Attributes:
        spec: What the YAML says.
        path: Absolute path or URI, for file formats.
        options: Reader options with the environment's values filled in.
    """

    spec: StreamSpec
    path: str | None
    options: Mapping[str, str] = field(repr=False)

    @property
    def header(self) -> bool:
        """Whether the first line of each file names its columns."""
        return self.options.get(HEADER, "").lower() == "true"

    @property
    def cleans(self) -> bool:
        """Whether files that were read are deleted or moved away."""
        return self.options.get(CLEANS, "off").lower() != "off"


def real(place: Place) -> Place:
    """A place, or that of a glob, without this machine's links: what is not there has none."""
    return replace(place, path=os.path.realpath(place.path)) if place.system == LOCAL else place


@dataclass(frozen=True)
class StreamSpec:
    """A parsed `meta.alluvium_stream`.

    Attributes:
        source: ``<source>.<table>`` for messages.
        format: One of those that the schema of the settings names.
        path: Folder, file or glob of files.
        topics: Kafka topics.
        options: Options of the reader.
        schema: DDL of columns parsed from the value (json, csv) or read (parquet, orc).
        min_rows: Fewer new rows than this wait for a later run.
        max_wait: Seconds after which they wait no longer; None where ``min_rows`` is 1.
        max_files_per_trigger: Files that one commit takes at most.
        max_bytes_per_trigger: Bytes of files that one commit takes at most, about.
    """

    source: str
    format: str
    path: str | EnvVar | None = None
    topics: tuple[str, ...] = ()
    options: Mapping[str, str | EnvVar] = field(default_factory=dict)
    schema: str | None = None
    min_rows: int = 1
    max_wait: int | None = None
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None

    def resolve(
        self,
        project: str | Path,
        home: str | Path | None,
        environ: Mapping[str, str] | None = None,
    ) -> Feed:
        """Fill in the environment's values and make the path absolute.

        Args:
            project: Folder that relative paths start from.
            home: What ``{home}`` in a path stands for; None where the target has none.
            environ: The environment, ``os.environ`` by default.

        Raises:
            SpecError: A named variable is not set, or ``{home}`` has no meaning here.
        """
        environ = os.environ if environ is None else environ
        mistakes: list[str] = []

        def value_of(key: str, value: str | EnvVar) -> str:
            if isinstance(value, str):
                return value
            if value.name not in environ:
                mistakes.append(f"{key}: the environment variable {value.name} is not set")
            return environ.get(value.name, "")

        def located(key: str, path: str) -> str:
            if "{home}" in path and home is None:
                mistakes.append(
                    f"{key}: {path!r} uses {{home}}, which only embedded targets have; "
                    "accepted: a path without it"
                )
            path = path.replace("{home}", str(home))
            if re.match(SYSTEM, path):
                return path
            return os.path.abspath(Path(project) / path)  # noqa: PTH100 - resolve() follows links

        path = None if self.path is None else located("path", value_of("path", self.path))
        options = {k: value_of(f"options.{k}", v) for k, v in self.options.items()}
        if archive := options.get(ARCHIVE):
            options[ARCHIVE] = located(f"options.{ARCHIVE}", archive)
        for key, text in options.items():
            # Of a value from the environment only the name is told: it may be a secret.
            given = self.options[key]
            if isinstance(given, EnvVar) and reader.mistakes_of_value(self.format, key, text):
                mistakes.append(f"options.{key}: the value of {given.name} is not accepted")
        if mistakes:
            raise SpecError(self.source, mistakes)
        return Feed(self, path, options)


def parse_spec(source: str, block: Any) -> StreamSpec:
    """Parse and check the block.

    Args:
        source: ``<source>.<table>``, for messages.
        block: The value of ``meta.alluvium_stream``.

    Raises:
        SpecError: With every mistake: the key, the value and what is accepted.
    """
    given = block
    if isinstance(block, Mapping):
        # A key of YAML that says nothing is as if it were not there.
        given = {key: value for key, value in block.items() if value is not None}
    rule = schema.settings()["source"][META]
    mistakes = schema.mistakes(f"meta.{META}", given, rule)
    right = schema.right(given, rule)
    wrong: list[str] = []
    options = _options(given, right, wrong)
    wrong += _across(given, right, options) if right else ()
    mistakes += [f"meta.{META}.{line}" for line in wrong]
    if mistakes:
        raise SpecError(source, mistakes)
    topic = right.pop("topic", ())
    values = {key: _READ.get(key, lambda value: value)(value) for key, value in right.items()}
    topics = (topic,) if isinstance(topic, str) else tuple(topic)
    return StreamSpec(source, **values | {"topics": topics, "options": options})


def _options(
    given: Mapping[str, Any], right: Mapping[str, Any], mistakes: list[str]
) -> dict[str, str | EnvVar]:
    """The options by the names that Spark gives them."""
    fmt, found = str(right.get("format")), dict[str, str | EnvVar]()
    for key, raw in right.get("options", {}).items():
        name, value = reader.spelt(fmt, str(key)), _text(raw)
        wrong = reader.unfit(fmt, str(key), "schema" in given)
        if wrong is None and name in found:
            wrong = f"{name} is given twice; accepted: once, in any case"
        if wrong is not None:
            mistakes.append(f"options.{key}: {wrong}")
            continue
        found[name] = value
        if isinstance(value, str):
            mistakes += reader.mistakes_of_value(fmt, str(key), value)
    mistakes.extend(reader.together(found))
    return found


def _across(
    given: Mapping[str, Any], right: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[str]:
    """Mistakes that no key makes by itself: `given` as it was written, `right` without the wrong
    values."""
    if fmt := right.get("format"):
        for key, formats in _USED_BY.items():
            if key in given and fmt not in formats:
                yield f"{key}: not used by {fmt}; accepted with {', '.join(formats)}"
        needed = "topic" if fmt == "kafka" else "path"
        if needed not in given:
            said = schema.settings()["source"][META]["properties"][needed]["accepted"]
            yield f"{needed}: missing; accepted: {said}"
        if fmt == "kafka" and _SERVERS not in options:
            yield f"options.{_SERVERS}: missing; accepted: host:port, …"
    if {"max_files_per_trigger", "max_bytes_per_trigger"} <= right.keys():
        yield "max_files_per_trigger, max_bytes_per_trigger: accepted: one of the two"
    if right.get("min_rows", 1) > 1 and "max_wait" not in given:
        yield (
            "max_wait: missing, and min_rows alone could hold the last rows back without an end; "
            "accepted: seconds, for example 90 or '15 minutes'"
        )
    if "max_wait" in given and "min_rows" not in given:
        yield "max_wait: has no effect without min_rows; accepted: both, or neither"


def _text(value: Any) -> str | EnvVar:
    if isinstance(value, Mapping):
        return EnvVar(value["env"])
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(value: str | int) -> int:
    match = None if isinstance(value, int) else _WAIT.match(value)
    return int(match[1]) * _SECONDS[match[2]] if match else int(value)


# How the values of keys are read; the others are as they are.
_READ: Mapping[str, Callable[[Any], Any]] = {"path": _text, "max_wait": _seconds}
