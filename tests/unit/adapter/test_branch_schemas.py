"""Where a target of a branch builds a node, as dbt's own rule has it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from alluvium.versions.branches import Branch
from dbt.adapters.alluvium.verbs.branching import _schema


@pytest.mark.parametrize(
    ("schema", "own", "on_branch"),
    [
        ("analytics", None, "analytics__fix"),
        # The project puts all of a target's models into one schema.
        ("analytics", "marts", "analytics__fix"),
        ("analytics_marts", "marts", "analytics__fix_marts"),
        ("analytics_marts", " marts ", "analytics__fix_marts"),
        # Whatever the target is, as far as anybody knows.
        ("analytics_shared", None, None),
        ("analytics_shared", "marts", None),
        ("analytics_", None, None),
        ("analyticsmarts", "marts", None),
        ("marts", "marts", None),
    ],
)
def test_schemas(schema: str, own: str | None, on_branch: str | None) -> None:
    node = SimpleNamespace(schema=schema, config={"schema": own})
    assert _schema(Branch("fix", "analytics"), node) == on_branch
    # And back.
    assert Branch("fix", "analytics").beside(on_branch or schema) == schema
