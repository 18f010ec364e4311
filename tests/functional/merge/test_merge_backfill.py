"""A window of bronze merged once more: it mends what is missing and changes nothing else."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest
from deltalake import Field
from deltalake.schema import PrimitiveType
from functional.merge.conftest import BATCH, SOURCES, merged

pytestmark = pytest.mark.spark

DAY = "2024-01-0{}"


# An event without an id has it in a text that the parser cannot read yet. One with `?` has no `v`.
PARSED = BATCH.replace(
    "select id,",
    "select coalesce(id, try_cast(v as bigint)) as id, _batch_id,"
    " if(v = '?', array('v'), null) as lacks,",
)


LACKING = {
    0: [(8, "c", 0, DAY.format(1), "old")],
    1: [(8, "u", 1, DAY.format(1), "?")],
    2: [(1, "u", 2, DAY.format(1), "?")],
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project(
        "backfill",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": PARSED,
            "models/items.sql": merged(
                {"order_by": "lsn", "delete_when": "op = 'd'", "keep_by": "lacks"}
            ),
        },
    )
    for batch in range(4):
        made.append_events(
            batch,
            (batch, "c", batch, DAY.format(1), "a"),
            (9, "u", batch, DAY.format(2), str(batch)),
            *([(None, "c", batch, None, f"#{batch}0")] if batch in (1, 2) else []),
            *(LACKING.get(batch, [])),
        )
    made.dbt("run")
    return made


def rows(project: Any) -> list[tuple[Any, ...]]:
    frame = project.read("select id, lsn, v from {s}.items order by id")
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


def backfill(project: Any, **window: Any) -> None:
    project.dbt("run", "--vars", json.dumps({"alluvium_backfill": {"items": window}}))


def test_what_was_lost_or_rejected_comes_back_and_nothing_else_changes(project: Any) -> None:
    before = rows(project)
    assert [row[0] for row in before] == [0, 1, 2, 3, 8, 9]
    assert {(1, 2, "a"), (8, 1, "old")} < set(before)
    batch = "cast(event ->> '$._batch_id' as int)"
    window = project.read(f"select min({batch}), max({batch}), count(*) from {{s}}.items__rejected")
    assert window.values.tolist() == [[1, 2, 2]]
    project.session.sql(f"delete from {project.schema}.items where id in (1, 2, 3)")
    # Of two rows with events that lack `v` one is gone, and one is as it was before its event.
    project.session.sql(f"update {project.schema}.items set lsn = 0 where id = 8")
    # The parser is mended.
    project.write({"models/batch.sql": PARSED.replace("try_cast(v", "try_cast(ltrim('#', v)")})
    backfill(project, from_batch=1, through_batch=2)
    figures = project.figures("items")
    assert (figures["events"], figures["rows_affected"]) == (8, 5)
    replayed = [(10, 1, "#10"), (20, 2, "#20")]
    assert rows(project) == [row for row in before if row[0] != 3] + replayed
    backfill(project, through_batch=0)
    assert project.figures("items")["events"] == 3


def test_progress_stays_behind_a_window_of_time(project: Any) -> None:
    """After the one before: the parser is mended, so an event without an id counts, too."""
    project.append_events(4, (4, "c", 4, DAY.format(4), "new"))
    events = project.table("events")
    events.alter.add_columns([Field("_source_timestamp", PrimitiveType("timestamp"))])
    for batch in range(5):
        when = dt.datetime(2024, 2, 29, tzinfo=dt.UTC) + dt.timedelta(days=batch)
        events.update(predicate=f"_batch_id = {batch}", new_values={"_source_timestamp": when})
    before = rows(project)
    # Both ends are times of batches. YAML takes the first for a date and not for a text.
    window = "{from_time: 2024-03-01, before_time: '2024-03-03T00:00:00'}"
    project.dbt("run", "--vars", f"{{alluvium_backfill: {{items: {window}}}}}")
    assert project.figures("items")["events"] == 8
    # All of it was merged before.
    assert project.figures("items")["rows_affected"] == 0
    assert rows(project) == before
    project.dbt("run")
    assert project.figures("items")["events"] == 1
    assert (4, 4, "new") in rows(project)


BEYOND = "whose {} goes from {} to {}"


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("from_batch: 5", BEYOND.format("_batch_id", 0, 4)),
        (
            "from_time: 2024-03-04 00:30",
            BEYOND.format("_source_timestamp", "2024-02-29 00:00:00", ""),
        ),
        ("before_time: 2024-02-29", BEYOND.format("_source_timestamp", "2024-02-29 00:00:00", "")),
        ("from_batch: 3, through_batch: 2", "is after through_batch 2, so the window is empty"),
        ("from_time: 2024-03-02, before_time: 2024-03-02 00:00", "so the window is empty"),
    ],
)
def test_windows_in_which_nothing_can_be(project: Any, window: str, said: str) -> None:
    before = project.versions("items")
    asked = f"{{alluvium_backfill: {{items: {{{window}}}}}}}"
    result = project.try_dbt("run", "--vars", asked)
    assert not result.success
    assert said in str(result.exception) + "".join(project.lines)
    assert project.versions("items") == before


def test_a_window_that_holds_nothing_says_so(project: Any) -> None:
    project.table("events").delete("_batch_id = 2")
    backfill(project, from_batch=2, through_batch=2)
    said = "items: the backfill of {from_batch: 2, through_batch: 2} found no event in"
    assert project.said(said)
