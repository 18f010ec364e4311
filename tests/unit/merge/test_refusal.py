"""Every fact that speaks against the one-commit merge is named."""

from __future__ import annotations

from dataclasses import fields

import pytest

from alluvium.delta.merge.refusal import Facts, reason
from alluvium.merge.one_commit import rows_of


def test_nothing_speaks_against_a_plain_merge() -> None:
    assert reason(Facts()) is None


@pytest.mark.parametrize("name", [field.name for field in fields(Facts)])
def test_every_fact_has_its_words(name: str) -> None:
    said = reason(Facts(**{name: True}))
    assert said
    others = [reason(Facts(**{f.name: True})) for f in fields(Facts) if f.name != name]
    assert said not in others


@pytest.mark.parametrize(
    ("stats", "gone", "rows"),
    [
        (None, 0, None),
        ("", 0, None),
        ('{"minValues": {}}', 0, None),
        ('{"numRecords": 5}', 0, 5),
        ('{"numRecords": 5, "tightBounds": true}', 0, 5),
        ('{"numRecords": 5, "tightBounds": false}', 2, 5),
        ('{"numRecords": 5, "tightBounds": true}', 2, None),
    ],
)
def test_rows_of_a_file(stats: str | None, gone: int, rows: int | None) -> None:
    known, why = rows_of(stats, gone)
    assert known == rows
    assert bool(why) == (rows is None)
