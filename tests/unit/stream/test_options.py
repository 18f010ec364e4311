"""Options of a stream's reader: each is passed on, refused with its reason, or told apart."""

from __future__ import annotations

from typing import Any

import pytest

from alluvium.ingest import SpecError, parse_spec
from alluvium.ingest.options import LINE_FORMATS, accepted, unfit


def mistakes(fmt: str, options: dict[str, Any], schema: str | None = "a int") -> list[str]:
    block: dict[str, Any] = {"format": fmt, "path": "x", "options": options}
    if fmt == "kafka":
        options = {"kafka.bootstrap.servers": "b", **options}
        block = {"format": fmt, "topic": "t", "options": options}
    elif schema is not None and fmt != "text":
        block["schema"] = schema
    try:
        parse_spec("landing.feed", block)
    except SpecError as error:
        return [line.removeprefix("meta.alluvium_stream.") for line in error.mistakes]
    return []


@pytest.mark.parametrize(
    ("fmt", "option", "message"),
    [
        ("csv", "nonsense", "unknown option of csv; accepted: pathGlobFilter, "),
        ("csv", "heder", "did you mean header?"),
        ("csv", "separator", "unknown option of csv"),
        ("json", "timestampformt", "did you mean timestampFormat?"),
        ("json", "header", "has no effect on json, only on csv"),
        ("text", "header", "has no effect on text, only on csv"),
        ("json", "multiLine", "one line is one event"),
        ("parquet", "multiline", "one line is one event"),
        ("json", "samplingRatio", "the key `schema` gives the types"),
        ("csv", "inferSchema", "the key `schema` gives the types"),
        ("csv", "encoding", "UTF-8"),
        ("json", "compression", "option of writing"),
        ("parquet", "mergeSchema", "the columns of all files are read"),
        ("orc", "ignoreCorruptFiles", "none is skipped"),
        ("json", "modifiedAfter", "every file is read once"),
        ("kafka", "endingOffsets", "each run takes all that is there"),
        ("kafka", "minOffsetsPerTrigger", "use the key `min_rows`"),
        ("kafka", "kafka.auto.offset.reset", "use startingOffsets"),
        ("kafka", "bootstrap.servers", "did you mean kafka.bootstrap.servers?"),
        ("kafka", "isolation.level", "did you mean kafka.isolation.level?"),
        ("kafka", "startingOfsets", "did you mean startingOffsets?"),
    ],
)
def test_options_that_are_refused(fmt: str, option: str, message: str) -> None:
    (found,) = mistakes(fmt, {option: "x"})
    assert found.startswith(f"options.{option}: ")
    assert message in found


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("header", "ja", 'options.header: "ja" is not accepted; accepted: true, false'),
        ("multiLine", "yes", '"yes" is not accepted; accepted: true, false'),
        ("mode", "DROPMALFORMED", "accepted: PERMISSIVE, FAILFAST"),
        ("quote", "''", "one character"),
        ("sep", "", "one or more characters"),
        ("maxColumns", "many", "a whole number"),
        ("cleanSource", "archive", "needs the option sourceArchiveDir"),
        ("cleansource", "Archive", "needs the option sourceArchiveDir"),
    ],
)
def test_values_that_spark_would_take_in_silence(option: str, value: str, message: str) -> None:
    (found,) = mistakes("csv", {option: value})
    assert message in found


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("failOnDataLoss", False, "accepted: true; the var `alluvium_accept_loss: <model>` lets"),
        ("kafka.isolation.level", "committed", "accepted: read_committed, read_uncommitted"),
    ],
)
def test_values_that_kafka_takes_or_tells_late(option: str, value: Any, message: str) -> None:
    (found,) = mistakes("kafka", {option: value})
    assert message in found


def test_two_spellings_of_one_option() -> None:
    assert "given twice" in mistakes("csv", {"header": True, "HEADER": False})[0]
    assert "one of them" in mistakes("csv", {"sep": ",", "delimiter": ";"})[0]


def test_options_that_pass() -> None:
    csv = {"Header": True, "SEP": "\\t", "quote": "'", "mode": "failfast", "nullValue": "NA"}
    assert not mistakes("csv", csv)
    block = {"format": "csv", "path": "x", "schema": "a int", "options": csv}
    spec = parse_spec("landing.feed", block)
    assert set(spec.options) == {"header", "sep", "quote", "mode", "nullValue"}
    assert spec.resolve("/p", None).header
    assert not mistakes("csv", {"header": True}, schema=None)
    assert not mistakes("csv", {"MULTILINE": True})
    assert not mistakes("parquet", {"datetimeRebaseMode": "CORRECTED"}, schema=None)
    assert not mistakes("kafka", {"kafka.any.thing": 1, "startingOffsets": "earliest"})
    (found,) = mistakes("csv", {"sep": ";"}, schema=None)
    assert "no effect without the key `schema`" in found


def test_a_value_of_the_environment_is_checked_and_not_shown() -> None:
    block = {"format": "csv", "path": "x", "options": {"header": {"env": "HEAD"}}}
    spec = parse_spec("landing.feed", block)
    assert spec.resolve("/p", None, {"HEAD": "TRUE"}).header
    with pytest.raises(SpecError, match=r"options\.header: the value of HEAD") as caught:
        spec.resolve("/p", None, {"HEAD": "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("fmt", [*LINE_FORMATS, "parquet", "orc", "kafka"])
def test_nothing_is_both_accepted_and_refused(fmt: str) -> None:
    for has_schema in (True, False):
        for name in accepted(fmt, has_schema):
            assert unfit(fmt, name, has_schema) is None, name
