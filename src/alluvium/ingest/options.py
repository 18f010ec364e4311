"""The options of a stream's reader: which there are, which have no effect here, and why.

The names are those that Spark documents for its readers and for ``from_json`` and ``from_csv``.
`options.json` beside this module has them in groups. Each has the rule of its value, as settings
have in `settings.json`, or `refused`: the reason why it is not accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from alluvium import schema
from alluvium.names import among, nearest

LINE_FORMATS = ("text", "json", "csv")
FILE_FORMATS = (*LINE_FORMATS, "parquet", "orc")
# Options of Spark's file stream; all others of a file format go to its parser or reader.
CLEANS = "cleanSource"
ARCHIVE = "sourceArchiveDir"
LISTING_OPTIONS = ("pathGlobFilter", CLEANS, ARCHIVE)
# The one option that says what the lines of a file are, and not how a line is parsed.
HEADER = "header"
# Whether a record of csv may span lines: then it is one event.
MULTI_LINE = "multiLine"
# Options of Kafka's own client.
KAFKA_CLIENT = "kafka."
ISOLATION = "kafka.isolation.level"

# The groups of `options.json` that hold for a format, beside `every`.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "text": ("listing", "lines"),
    "json": ("listing", "lines", "json", "parsed"),
    "csv": ("listing", "lines", "csv", "parsed"),
    "parquet": ("listing", "parquet"),
    "orc": ("listing", "orc"),
    "kafka": ("kafka",),
}


@cache
def _known(fmt: str) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """The options of which something is known, by their names in lower case: readers ignore case.

    Each with the name as Spark documents it, and its rule.
    """
    groups = schema.read(Path(__file__).with_name("options.json"))
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for group in (*_GROUPS.get(fmt, ("listing",)), "every"):
        for name, rule in groups[group].items():
            found.setdefault(name.lower(), (name, rule))
    return found


def accepted(fmt: str, has_schema: bool) -> tuple[str, ...]:
    """Names of the options that have an effect on a format.

    Args:
        fmt: The format.
        has_schema: Whether the source says a schema: without one no line is parsed.
    """
    names = tuple(name for name, rule in _known(fmt).values() if "refused" not in rule)
    if fmt == "kafka":
        return (*names, f"{KAFKA_CLIENT}*")
    if fmt in LINE_FORMATS and not has_schema:
        return tuple(name for name in names if name in (*LISTING_OPTIONS, HEADER))
    return names


def spelt(fmt: str, key: str) -> str:
    """The option's name as Spark documents it."""
    return _known(fmt).get(key.lower(), (key,))[0]


def unfit(fmt: str, key: str, has_schema: bool) -> str | None:
    """Why a format does not take an option; None where it does, or for an unknown format."""
    name, rule = _known(fmt).get(key.lower(), ("", {}))
    if "refused" in rule:
        return str(rule["refused"])
    names = accepted(fmt, has_schema)
    if fmt not in _GROUPS or name in names or _is_of_client(fmt, key):
        return None
    if name:
        return f"has no effect without the key `schema`; accepted without it: {', '.join(names)}"
    of = [other for other in _GROUPS if among(key, accepted(other, True))]
    if of:
        return f"has no effect on {fmt}, only on {', '.join(of)}; accepted: {', '.join(names)}"
    # Options of Kafka's client are known elsewhere without what comes before them here.
    short = {name.removeprefix(KAFKA_CLIENT): name for name in names}
    close = nearest(key, short)
    said = f"did you mean {short[close]}?" if close else f"accepted: {', '.join(names)}"
    return f"unknown option of {fmt}; {said}"


def _is_of_client(fmt: str, key: str) -> bool:
    return fmt == "kafka" and key.lower().startswith(KAFKA_CLIENT) and len(key) > len(KAFKA_CLIENT)


def mistakes_of_value(fmt: str, key: str, value: str) -> list[str]:
    """What is wrong with an option's value. Spark takes some such in silence.

    Of an unknown format too, as far as some format takes the option.
    """
    known = (_known(one).get(key.lower()) for one in ([fmt] if fmt in _GROUPS else _GROUPS))
    rule = next((one[1] for one in known if one and "refused" not in one[1]), {})
    choices = {one.lower(): one for one in rule.get("enum", ())}
    return schema.mistakes(f"options.{key}", choices.get(value.lower(), value), rule)


def reads_uncommitted(options: Mapping[str, str]) -> bool:
    """Whether a Kafka source asks for the records of transactions that are open or were aborted."""
    given = {key.lower(): value for key, value in options.items()}
    return given.get(ISOLATION, "").lower() == "read_uncommitted"


def together(options: Mapping[str, object]) -> Iterator[str]:
    """Mistakes in which options are given at once, by the names that Spark documents."""
    if {"sep", "delimiter"} <= options.keys():
        yield "options.sep, options.delimiter: two names of one option; accepted: one of them"
    archives = str(options.get(CLEANS)).lower() == "archive"
    if ARCHIVE in options and not archives:
        yield f"options.{ARCHIVE}: has no effect without {CLEANS}: archive"
    if archives and ARCHIVE not in options:
        yield f"options.{CLEANS}: archive needs the option {ARCHIVE}"
