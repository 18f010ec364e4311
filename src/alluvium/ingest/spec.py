"""`meta.alluvium_stream` of a dbt source: what it may say, and every mistake in it at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from alluvium.ingest import options as reader
from alluvium.ingest.options import ARCHIVE, CLEANS, FILE_FORMATS, HEADER
from alluvium.paths import LOCAL, SYSTEM, Place

FORMATS = (*FILE_FORMATS, "kafka")
KEYS = (
    "format",
    "path",
    "topic",
    "options",
    "schema",
    "min_rows",
    "max_wait",
    "max_files_per_trigger",
    "max_bytes_per_trigger",
)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_DURATION = re.compile(r"(\d+)\s*(s|seconds?|m|minutes?|h|hours?|d|days?)")
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

    @property
    def place(self) -> str:
        """The path as it can be compared with others; on this machine without links."""
        return "" if self.path is None else real(Place.of(self.path)).shown


def real(place: Place) -> Place:
    """A place, or that of a glob, without this machine's links: what is not there has none."""
    return replace(place, path=os.path.realpath(place.path)) if place.system == LOCAL else place


@dataclass(frozen=True)
class StreamSpec:
    """A parsed `meta.alluvium_stream`.

    Attributes:
        source: ``<source>.<table>`` for messages.
        format: One of ``FORMATS``.
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
            if isinstance(given, EnvVar) and reader.bad_value(key, text) is not None:
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
    if not isinstance(block, Mapping):
        raise SpecError(source, [f"accepted: a mapping with the keys {', '.join(KEYS)}"])
    mistakes = [
        f"{key!s}: unknown key; accepted: {', '.join(KEYS)}" for key in block if key not in KEYS
    ]
    fmt = block.get("format")
    if fmt not in FORMATS:
        mistakes.append(f"format: {fmt!r}; accepted: {', '.join(FORMATS)}")
    options = _options(block.get("options"), fmt, "schema" in block, mistakes)
    path = _path(block, fmt, mistakes)
    topics = _topics(block, fmt, mistakes)
    if fmt == "kafka" and "kafka.bootstrap.servers" not in options:
        mistakes.append("options.kafka.bootstrap.servers: missing; accepted: host:port, …")
    schema = _schema(block.get("schema"), fmt, mistakes)

    def count(key: str, allowed: bool = True) -> int | None:
        value = block.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            mistakes.append(f"{key}: {value!r}; accepted: a whole number from 1")
        elif not allowed:
            mistakes.append(f"{key}: not used by {fmt}")
        else:
            return value
        return None

    min_rows = count("min_rows") or 1
    max_files = count("max_files_per_trigger", fmt != "kafka")
    max_bytes = count("max_bytes_per_trigger", fmt != "kafka")
    if max_files is not None and max_bytes is not None:
        mistakes.append("max_files_per_trigger, max_bytes_per_trigger: accepted: one of the two")
    max_wait = _duration(block.get("max_wait"), mistakes)
    if min_rows > 1 and block.get("max_wait") is None:
        mistakes.append(
            "max_wait: missing, and min_rows alone could hold the last rows back without an end; "
            "accepted: seconds, for example 90 or '15 minutes'"
        )
    if min_rows == 1 and block.get("max_wait") is not None and "min_rows" not in block:
        mistakes.append("max_wait: has no effect without min_rows; accepted: both, or neither")
    if mistakes:
        raise SpecError(source, mistakes)
    return StreamSpec(
        source, str(fmt), path, topics, options, schema, min_rows, max_wait, max_files, max_bytes
    )


def _schema(schema: Any, fmt: Any, mistakes: list[str]) -> str | None:
    if schema is None:
        return None
    if not isinstance(schema, str) or not schema.strip():
        mistakes.append(
            f"schema: {schema!r}; accepted: column definitions, for example 'id bigint'"
        )
    elif fmt in ("text", "kafka"):
        mistakes.append(f"schema: not used by {fmt}; accepted with json, csv, parquet, orc")
    return str(schema)


def _env_or_text(value: Any) -> str | EnvVar | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Mapping) and set(value) == {"env"} and isinstance(value["env"], str):
        return EnvVar(value["env"])
    return None


def _options(
    block: Any, fmt: Any, has_schema: bool, mistakes: list[str]
) -> dict[str, str | EnvVar]:
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        mistakes.append("options: accepted: a mapping of option to value or {env: NAME}")
        return {}
    options: dict[str, str | EnvVar] = {}
    for key, raw in block.items():
        value = _env_or_text(raw)
        name = reader.spelt(str(fmt), str(key))
        reason = reader.unfit(str(fmt), str(key), has_schema)
        if reason is not None:
            mistakes.append(f"options.{key}: {reason}")
        elif value is None:
            # The value is not shown: it may be a secret put in the wrong shape.
            mistakes.append(
                f"options.{key}: accepted: a text, a number, a boolean or {{env: NAME}}"
            )
        elif name in options:
            mistakes.append(f"options.{key}: {name} is given twice; accepted: once, in any case")
        else:
            wrong = reader.bad_value(name, value) if isinstance(value, str) else None
            if wrong is not None:
                mistakes.append(f"options.{key}: {wrong}")
            options[name] = value
    mistakes.extend(reader.together(options))
    return options


def _path(block: Mapping[str, Any], fmt: Any, mistakes: list[str]) -> str | EnvVar | None:
    if fmt == "kafka":
        if "path" in block:
            mistakes.append("path: not used by kafka; accepted: topic")
        return None
    if "path" not in block:
        mistakes.append("path: missing; accepted: a folder, a file, a glob or {env: NAME}")
        return None
    path = _env_or_text(block["path"])
    if path is None or path == "":
        mistakes.append(f"path: {block['path']!r}; accepted: a text or {{env: NAME}}")
    return path


def _topics(block: Mapping[str, Any], fmt: Any, mistakes: list[str]) -> tuple[str, ...]:
    topic = block.get("topic")
    if fmt != "kafka":
        if topic is not None:
            mistakes.append(f"topic: not used by {fmt}; accepted: path")
        return ()
    topics = [topic] if isinstance(topic, str) else topic
    if (
        not isinstance(topics, list)
        or not topics
        or not all(isinstance(name, str) and name.strip() for name in topics)
    ):
        mistakes.append(f"topic: {topic!r}; accepted: a topic or a list of topics")
        return ()
    for name in topics:
        if not _TOPIC.fullmatch(name):
            # No topic has such a name, so it would be empty for ever.
            mistakes.append(
                f"topic: {name!r}; accepted: names of topics, of letters, digits, '.', '_' and '-';"
                " several as a list"
            )
    return tuple(topics)


def _duration(value: Any, mistakes: list[str]) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        mistakes.append(
            f"max_wait: {value!r}; accepted: seconds, or a text like '90 s', '15 minutes'"
        )
        return None
    return int(match[1]) * _SECONDS[match[2][0]]
