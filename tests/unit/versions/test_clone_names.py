"""What a clone is told where its schema is not there."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.versions import refs
from alluvium.versions.points import Point


@pytest.mark.parametrize(
    ("to", "asked"), [("lab.copy", ""), ("analytic.copy", "; did you mean analytics?")]
)
def test_a_schema_that_is_not_there(to: str, asked: str) -> None:
    known = [SimpleNamespace(name=name) for name in ("analytics", "default")]
    catalog = SimpleNamespace(databaseExists=lambda name: False, listDatabases=lambda: known)
    session: Any = SimpleNamespace(catalog=catalog)
    schema = to.partition(".")[0]
    said = (
        f"there is no schema {schema}; accepted: analytics, default, or one that"
        f" `on-run-start: create schema {schema}` makes{asked}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        refs.clone(session, Point("analytics.orders", 1), to, schema="analytics").apply()
