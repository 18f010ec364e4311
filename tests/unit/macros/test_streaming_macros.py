"""Bronze on stock targets: the SQL of its files, and what the source may say there."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

import pytest

from alluvium.ingest.options import HEADER, LINE_FORMATS, LISTING_OPTIONS, MULTI_LINE, accepted
from alluvium.names import literal

UID = "source.root.landing.flights"


def graph_of(spec: dict[str, Any]) -> dict[str, Any]:
    source = {"source_name": "landing", "name": "flights"}
    return {"sources": {UID: source | {"config": {"meta": {"alluvium_stream": spec}}}}}


def read(macros: Any, spec: dict[str, Any], target: str = "spark") -> dict[str, Any]:
    macros.context["graph"] = graph_of(spec)
    macros.context["target"] = types.SimpleNamespace(type=target)
    macros.context["invocation_args_dict"] = {"project_dir": "/project"}
    macros.context["env_var"] = {"LANDING": "/data/it's"}.__getitem__
    return macros.stream_source({"name": "bronze", "depends_on": {"nodes": [UID]}})


class Relation:
    def __init__(self, name: str) -> None:
        self._name = name

    def render(self) -> str:
        return self._name


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("landing/flights", "/project/landing/flights"),
        ("/data/flights", "/data/flights"),
        ("s3://bucket/flights", "s3://bucket/flights"),
        ({"env": "LANDING"}, "/data/it's"),
    ],
)
def test_path(macros: Any, path: Any, expected: str) -> None:
    assert read(macros, {"format": "text", "path": path})["path"] == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"format": "kafka", "topic": "t"}, "format: kafka; accepted on a spark target"),
        ({"format": "text"}, "path: missing"),
        ({"format": "text", "path": "{home}/x"}, "only embedded targets have"),
        (
            {"format": "text", "path": "x", "options": {"cleanSource": "delete"}},
            "files are never moved",
        ),
        (
            {"format": "csv", "path": "x", "schema": "a int", "options": {"Header": True}},
            "options.Header: headers are read on alluvium targets only",
        ),
        (
            {"format": "csv", "path": "x", "schema": "a int", "options": {"multiLine": True}},
            "options.multiLine: records that span lines are read on alluvium targets only",
        ),
        (
            {"format": "csv", "path": "x", "schema": "a int", "options": {"nonsense": 1}},
            "options.nonsense: has no effect on csv; accepted: pathGlobFilter, sep, ",
        ),
        (
            {"format": "csv", "path": "x", "options": {"sep": ";"}},
            "options.sep: has no effect on csv without the key `schema`",
        ),
        (
            {"format": "json", "path": "x", "schema": "a int", "options": {"multiLine": True}},
            "options.multiLine: has no effect on json",
        ),
    ],
)
def test_mistakes(macros: Any, stop: Any, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(stop, match=re.escape(message)):
        read(macros, spec)


@pytest.mark.parametrize("fmt", LINE_FORMATS)
def test_stock_targets_know_the_same_options(macros: Any, fmt: str) -> None:
    here = set(accepted(fmt, has_schema=True)) - {*LISTING_OPTIONS, HEADER, MULTI_LINE}
    assert set(macros.stream_options()[fmt]) == here


def test_options_are_passed_as_they_are(macros: Any) -> None:
    options = {"SEP": ";", "pathglobfilter": "*.csv", "header": False}
    spec = {"format": "csv", "path": "x", "schema": "a int", "options": options}
    feed = read(macros, spec)
    assert (feed["options"], feed["glob"]) == ({"SEP": ";"}, "*.csv")


def test_databricks_needs_a_path_of_the_workspace(macros: Any, stop: Any) -> None:
    with pytest.raises(stop, match="/Volumes/"):
        read(macros, {"format": "text", "path": "landing"}, "databricks")


def test_one_stream_exactly(macros: Any, stop: Any) -> None:
    macros.context["graph"] = graph_of({})
    with pytest.raises(stop, match="exactly one source"):
        macros.stream_source({"name": "bronze", "depends_on": {"nodes": []}})


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/data/flights/", "/data/flights"),
        ("file:///data/flights", "/data/flights"),
        ("s3://bucket/a/b", "/a/b"),
        ("/data/fl*/x", "/data"),
        ("/data/2013-{01,02}", "/data"),
    ],
)
def test_folder(macros: Any, path: str, folder: str) -> None:
    assert macros.stream_folder(path) == folder


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from landing.flights", "select * from V"),
        (
            "select * from (select * from landing.flights where false limit 0) as x",
            "select * from (select * from V where false limit 0) as x",
        ),
        ("select * from landing.flights_2", "select * from landing.flights_2"),
        ("select * from other.landing.flights", "select * from other.landing.flights"),
    ],
)
def test_only_the_source_itself_is_replaced(macros: Any, sql: str, expected: str) -> None:
    assert macros.with_stream(sql, Relation("landing.flights"), "V") == expected


def test_replacement_is_taken_as_it_is(macros: Any) -> None:
    text = r"(select '\n', '\1')"
    assert macros.with_stream("from a.b", Relation("a.b"), text) == f"from {text}"


def test_sql_of_spark(macros: Any, golden: Callable[[str, str], None]) -> None:
    feed = read(macros, {"format": "text", "path": "/data/it's"})
    urls = ["file:/data/it's/a%20b", "file:/data/it's/c"]
    view = macros.stream_events(macros.stream_lines(feed, urls), feed)
    golden("stream_events", view)
    golden("stream_new_files", macros.stream_new_files_sql(feed, "`b`.`events`"))
    golden("stream_insert", macros.stream_insert("`b`.`events`", "select * from v", 7))


def test_sql_of_databricks(macros: Any, golden: Callable[[str, str], None]) -> None:
    feed = read(
        macros,
        {
            "format": "json",
            "path": "/Volumes/main/landing/flights",
            "schema": "id bigint, at timestamp",
            "options": {
                "pathGlobFilter": "*.jsonl",
                "timestampFormat": "yyyy",
                "allowComments": True,
            },
        },
        "databricks",
    )
    events = macros.stream_events(macros.databricks_stream_lines(feed), feed)
    golden("stream_databricks", macros.databricks_stream_select(f"select * from ({events})"))


@pytest.mark.parametrize("text", ["", "it's", "a\\'b", "Dear ${name}", "x' '{y}", "\n\t%$"])
def test_a_literal_is_the_adapters(macros: Any, text: str) -> None:
    assert macros.text_literal(text) == literal(text)
