"""What stops a version of a candidate from being shown, each reason by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alluvium.plan.versions.audit import Audit

RIGHT = Audit(
    head=5,
    is_newest=False,
    is_other=False,
    is_behind=False,
    is_lost=False,
    is_held=False,
    is_foreign=False,
    undid=False,
    mistakes=(),
    missing=(),
)


@pytest.mark.parametrize("head", [5, None])
def test_what_nothing_stops(head: int | None) -> None:
    audit = replace(RIGHT, head=head)
    assert audit.refusals("wap", "shown") == []
    assert list(audit.stays(ends_hold=False)) == []


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"is_foreign": True, "head": None}, ["shown is there with rows that no publish brought."]),
        ({"mistakes": ("a", "b")}, ["wap cannot be published: a; b"]),
        (
            {"is_foreign": True, "mistakes": ("a",)},
            ["shown is there with rows that no publish", "wap cannot be published: a"],
        ),
    ],
)
def test_refusals(seen: dict[str, Any], said: list[str]) -> None:
    found = replace(RIGHT, **seen).refusals("wap", "shown")
    assert len(found) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"is_other": True}, "the table was dropped and made again since"),
        ({"is_held": True}, "a checkout holds version 5"),
        ({"is_behind": True, "head": 1234}, "version 1,234 is already"),
        (
            {"is_behind": True, "is_lost": True},
            "version 5 is already (lost since: alluvium.recover helps)",
        ),
        ({"undid": True}, "the table was restored to an earlier one since"),
        # What the log does not tell any more may have been undone.
        ({"undid": None}, "the table was restored to an earlier one since"),
        ({"missing": ("x/1.parquet",)}, "it needs 1 file that VACUUM deleted, such as x/1.parquet"),
    ],
)
def test_what_is_not_to_be_shown(seen: dict[str, Any], said: str) -> None:
    audit = replace(RIGHT, **seen)
    assert list(audit.stays(ends_hold=False)) == [said]
    assert audit.refusals("wap", "shown") == []


def test_a_hold_that_ends_stops_nothing() -> None:
    held = replace(RIGHT, is_held=True)
    assert list(held.stays(ends_hold=True)) == []


def test_what_weighs_most_is_said_first() -> None:
    all_of_it = replace(
        RIGHT, is_other=True, is_held=True, is_behind=True, undid=True, missing=("a",)
    )
    first, *others = all_of_it.stays(ends_hold=False)
    assert (first, len(others)) == ("the table was dropped and made again since", 4)
