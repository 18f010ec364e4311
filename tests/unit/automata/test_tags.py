"""The tag of a file, with the indexes of several columns."""

from __future__ import annotations

import json

import pytest
from support.automata import from_text

from alluvium.plan.automata import Index, summarize
from alluvium.plan.automata.tags import to_text


def _index(values: list[object]) -> Index:
    found = summarize(values, 1024)
    assert found is not None
    return found


def test_what_is_written_is_read() -> None:
    indexes = {
        "service": _index(["reader", "writer", "compactor"]),
        "a.b `c` é": _index([200, 204, 500, None]),
        "nothing": _index(["\\ \" '", None]),
    }
    assert from_text(to_text(indexes)) == indexes
    assert to_text({"service": indexes["service"]}) == (
        '{"service":{"v":1,"exact":true,"re":"^(compactor|reader|writer)$"}}'
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (None, set()),
        ("", set()),
        ("[1]", set()),
        ('{"a":', set()),
        ("[" * 100_000, set()),
        ('{"a":{"v":2,"re":"^x$"},"b":{"v":1,"re":"^x$"}}', {"b"}),
        ('{"a":{"v":1,"re":"^x"},"b":null,"c":[],"d":"^x$"}', set()),
    ],
)
def test_what_says_nothing(text: str | None, columns: set[str]) -> None:
    assert from_text(text).keys() == columns


def test_it_is_one_object() -> None:
    assert isinstance(json.loads(to_text({"a": _index(["x"])}))["a"], dict)
