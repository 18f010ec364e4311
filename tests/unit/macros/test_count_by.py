"""`alluvium.count_by`: who reads the counts of the session, and who has the plain query."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("materialized", "is_told"),
    # dbt stages a snapshot as a view, which cannot read one of the session.
    [("table", True), ("incremental", True), ("view", False), ("snapshot", False)],
)
def test_who_reads_the_counts_of_the_session(
    macros: Any, node: Any, materialized: str, is_told: bool
) -> None:
    macros.context["model"] = node(materialized=materialized)
    macros.context["adapter"] = SimpleNamespace(count_by=lambda *asked: "(select * from counts)")
    relation = SimpleNamespace(render=lambda: "s.t")
    found = macros.count_by(relation, "kind")
    assert ("from counts" in found) is is_told
    assert ("group by `kind`" in found) is not is_told
