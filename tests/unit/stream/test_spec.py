"""`meta.alluvium_stream`: what it accepts, and every mistake at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alluvium.ingest import SpecError, parse_spec
from alluvium.ingest.spec import EnvVar


def mistakes(block: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_spec("landing.flights", block)
    assert "landing.flights" in str(caught.value)
    return [line.removeprefix("meta.alluvium_stream.") for line in caught.value.mistakes]


def test_least() -> None:
    spec = parse_spec("landing.flights", {"format": "text", "path": "landing/flights"})
    assert (spec.min_rows, spec.max_wait, spec.options, spec.topics) == (1, None, {}, ())


def test_kafka() -> None:
    spec = parse_spec(
        "k.t",
        {
            "format": "kafka",
            "topic": ["a", "b"],
            "options": {
                "kafka.bootstrap.servers": {"env": "BROKERS"},
                "failOnDataLoss": True,
                "maxOffsetsPerTrigger": 10,
            },
            "min_rows": 100,
            "max_wait": "15 minutes",
        },
    )
    assert spec.topics == ("a", "b")
    assert spec.max_wait == 900
    assert spec.options == {
        "kafka.bootstrap.servers": EnvVar("BROKERS"),
        "failOnDataLoss": "true",
        "maxOffsetsPerTrigger": "10",
    }


def test_every_mistake_at_once() -> None:
    found = mistakes(
        {
            "format": "json",
            "pth": "x",
            "options": {"multiLine": True, "pathGlobFilter": ["*.json"]},
            "min_rows": 0,
            "max_wait": "soon",
            "max_files_per_trigger": True,
            "topic": "t",
        }
    )
    for key in ("options.multiLine:", "options.pathGlobFilter:", "path:"):
        assert any(m.startswith(key) for m in found), (key, found)
    for key in ("min_rows: 0 is", 'max_wait: "soon"', "max_files_per_trigger: true", "topic:"):
        assert any(m.startswith(key) for m in found), (key, found)
    assert any("unknown key pth; accepted: format, path" in m for m in found)
    assert len(found) == 8


def test_a_wrong_format_hides_no_mistake_and_makes_none() -> None:
    options = {"multiLine": True, "mode": "x"}
    found = mistakes({"format": "xml", "topic": "t", "options": options, "pth": "x"})
    accepted = "text, json, csv, parquet, orc, kafka"
    assert found.count(f'format: "xml" is not accepted; accepted: {accepted}') == 1
    assert any(m.startswith("options.multiLine: one line is one event") for m in found)
    assert any(m.startswith('options.mode: "x" is not accepted; accepted: PERM') for m in found)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ("text", 'meta.alluvium_stream: "text" is not a mapping; accepted keys: format, path, '),
        ({"path": "x"}, "format: missing; accepted: text, json, "),
        ({"format": "text"}, "path: missing; accepted: a folder, a file, a glob or {env: NAME}"),
        ({"format": "text", "path": None}, "path: missing; accepted: a folder"),
        ({"format": "text", "path": 5}, "path: 5 is not accepted; accepted: a folder, a file"),
        (
            {"format": "kafka", "topic": "t", "path": "x"},
            "path: not used by kafka; accepted with text, json, csv, parquet, orc",
        ),
        (
            {"format": "json", "path": "x", "topic": "t"},
            "topic: not used by json; accepted with kafka",
        ),
        (
            {"format": "kafka", "topic": "t"},
            "options.kafka.bootstrap.servers: missing; accepted: host:port",
        ),
        ({"format": "kafka", "options": {"kafka.bootstrap.servers": "b"}}, "topic: missing"),
        (
            {"format": "kafka", "topic": ["orders", "a,b"]},
            'topic: ["orders", "a,b"] is not accepted; accepted: names of topics',
        ),
        ({"format": "kafka", "topic": "orders.*"}, 'topic: "orders.*"'),
        (
            {"format": "text", "path": "x", "schema": "a int"},
            "schema: not used by text; accepted with json, csv, parquet, orc",
        ),
        ({"format": "text", "path": "x", "min_rows": 5}, "max_wait: missing"),
        ({"format": "text", "path": "x", "max_wait": 5}, "max_wait: has no effect"),
        ({"format": "delta", "path": "x"}, 'format: "delta"'),
        ({"format": "json", "path": "x", "options": {"sep": ";"}}, "options.sep: has no effect"),
        (
            {"format": "csv", "path": "x", "max_files_per_trigger": 1, "max_bytes_per_trigger": 1},
            "max_files_per_trigger, max_bytes_per_trigger:",
        ),
    ],
)
def test_mistake(block: Any, key: str) -> None:
    assert any(m.startswith(key) for m in mistakes(block)), mistakes(block)


def test_secret_is_read_at_the_run_and_never_shown() -> None:
    block = {
        "format": "kafka",
        "topic": "t",
        "options": {
            "kafka.bootstrap.servers": "b:9092",
            "kafka.sasl.jaas.config": {"env": "JAAS"},
        },
    }
    spec = parse_spec("k.t", block)
    feed = spec.resolve("/p", None, {"JAAS": "hunter2"})
    assert feed.options["kafka.sasl.jaas.config"] == "hunter2"
    assert "hunter2" not in repr(feed)
    assert "hunter2" not in repr(spec)
    with pytest.raises(SpecError, match="JAAS is not set"):
        spec.resolve("/p", None, {})


def test_a_secret_in_the_wrong_shape_is_not_shown() -> None:
    block = {"format": "text", "path": "x", "options": {"pathGlobFilter": {"value": "hunter2"}}}
    [mistake] = mistakes(block)
    accepted = "a text, a number, a boolean or {env: NAME}"
    assert mistake == f"options.pathGlobFilter: accepted: {accepted}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("landing/flights", "/p/landing/flights"),
        ("../landing", "/landing"),
        ("/abs/x", "/abs/x"),
        ("{home}/landing", "/h/landing"),
        ("s3a://bucket/x", "s3a://bucket/x"),
        ("file:/x/y", "file:/x/y"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    spec = parse_spec("a.b", {"format": "text", "path": path})
    assert spec.resolve("/p", Path("/h")).path == expected


def test_home_needs_an_embedded_target() -> None:
    spec = parse_spec("a.b", {"format": "text", "path": "{home}/x"})
    with pytest.raises(SpecError, match="only embedded targets"):
        spec.resolve("/p", None)


@pytest.mark.parametrize(
    ("value", "seconds"), [(90, 90), ("90s", 90), ("2 h", 7200), ("1 day", 86400), ("5m", 300)]
)
def test_max_wait(value: Any, seconds: int) -> None:
    block = {"format": "text", "path": "x", "min_rows": 2, "max_wait": value}
    assert parse_spec("a.b", block).max_wait == seconds
