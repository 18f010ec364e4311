"""`alluvium.at`: what it writes behind a relation, and what it accepts."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"version": 0}, "s.t version as of 0"),
        ({"version": 42}, "s.t version as of 42"),
        ({"timestamp": "2025-01-31"}, "s.t timestamp as of '2025-01-31 00:00 UTC'"),
        ({"timestamp": "2025-01-31 18:00"}, "s.t timestamp as of '2025-01-31 18:00 UTC'"),
    ],
)
def test_a_version_and_a_time(macros: Any, given: dict[str, Any], written: str) -> None:
    assert macros.at("s.t", **given).strip() == written


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "version and timestamp are missing; accepted: one of them"),
        ({"version": 1, "timestamp": "2025-01-31"}, "both given; accepted: one of them"),
        ({"version": -1}, "version is -1; accepted: a whole number"),
        ({"version": "1 union"}, 'version is "1 union"; accepted: a whole number'),
        ({"timestamp": "x' or '1"}, "accepted: a date, or a date and time in UTC"),
        ({"verion": 1}, "unknown argument verion; accepted: version, timestamp; did you mean"),
    ],
)
def test_what_it_does_not_accept(
    macros: Any, stop: type[Exception], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(stop, match=r"alluvium\.at: ") as error:
        macros.at("s.t", **given)
    assert said in str(error.value)
