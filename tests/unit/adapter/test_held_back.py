"""What is said behind a run of a candidate that failed its audit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.plan.status.table import FailedAudit
from dbt.adapters.alluvium.held_back import HeldBack, PublishedHead, compares_with_readers, figures

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)
SHOWN = PublishedHead("runways", 4, NOW - timedelta(hours=14), is_of_candidate=True)
MERGED = {"alluvium_merge": {"order_by": "version"}}


def said(
    *shown: PublishedHead, meta: dict[str, Any] | None = None, version: int | None = None
) -> list[str]:
    config = SimpleNamespace(meta=meta or {})
    candidate = SimpleNamespace(name="runways_wap", version=version, config=config)
    failed = {"rows_kept": "280 rows, readers see 29,090", "unique_id": "its query failed"}
    return list(HeldBack(candidate, FailedAudit("id", 1005, 4, failed), shown).lines(NOW))


def test_a_block() -> None:
    assert said(SHOWN, meta=MERGED) == [
        "runways_wap is held back: 2 of 4 tests of its version 1,005 failed",
        "  rows_kept: 280 rows, readers see 29,090",
        "  unique_id: its query failed",
        "  runways: readers keep version 4, published 2026-01-31 22:00:00 UTC (14 hours ago)",
        "  what changed: dbt run-operation alluvium.diff --args '{model: runways_wap, from: 4}'",
        "  to undo it: dbt run-operation alluvium.restore --args"
        " '{model: runways_wap, version: 4, dry_run: true}'",
    ]


def test_where_nothing_is_to_be_undone() -> None:
    # Each build makes it again.
    assert said(SHOWN)[-2:] == [
        "  what changed: dbt run-operation alluvium.diff --args '{model: runways_wap, from: 4}'",
        "  when it is mended: dbt build -s runways_wap+",
    ]
    # Readers see nothing of this table: there is none to compare with.
    first, other = PublishedHead("runways"), PublishedHead("shown", 7)
    assert said(first, other, meta=MERGED, version=2) == [
        "runways_wap.v2 is held back: 2 of 4 tests of its version 1,005 failed",
        "  rows_kept: 280 rows, readers see 29,090",
        "  unique_id: its query failed",
        "  runways: readers see nothing yet",
        "  shown: readers keep version 7",
        "  when it is mended: dbt build -s runways_wap.v2+",
    ]


@pytest.mark.parametrize(
    ("calc", "failures", "row", "how"),
    [
        ("count(*)", 1, None, "1 row"),
        ("count(*)", 1200, None, "1,200 rows"),
        ("sum(lost)", 7, None, "sum(lost) is 7"),
        ("count(*)", 1, {"row_count": 1, "published_row_count": 9000}, "1 row, readers see 9,000"),
    ],
)
def test_how_a_test_failed(calc: str, failures: int, row: dict[str, int] | None, how: str) -> None:
    test = SimpleNamespace(config=SimpleNamespace(fail_calc=calc))
    assert figures(test, failures, row) == how


def test_whose_row_has_the_figures() -> None:
    for namespace, name, known in (
        ("alluvium", "rows_kept", True),
        (None, "rows_kept", False),
        ("alluvium", "unique_key", False),
    ):
        metadata = SimpleNamespace(namespace=namespace, name=name)
        assert compares_with_readers(SimpleNamespace(test_metadata=metadata)) is known
    assert not compares_with_readers(SimpleNamespace())
