"""A window of bronze merged once more: it mends what is missing and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import BATCH, SOURCES, merged

pytestmark = pytest.mark.spark

DAY = "2024-01-0{}"


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    made = feed("backfill", {"order_by": "lsn", "delete_when": "op = 'd'"})
    for batch in range(4):
        made.append_events(
            batch,
            (batch, "c", batch, DAY.format(1), "a"),
            (9, "u", batch, DAY.format(2), str(batch)),
        )
    made.dbt("run")
    return made


def rows(project: Any) -> list[tuple[Any, ...]]:
    frame = project.read("select id, lsn, v from {s}.items order by id")
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


def backfill(project: Any, **window: Any) -> None:
    project.dbt("run", "--vars", json.dumps({"alluvium_backfill": {"items": window}}))


def test_what_was_lost_comes_back_and_nothing_else_changes(project: Any) -> None:
    before = rows(project)
    project.session.sql(f"delete from {project.schema}.items where id in (1, 2, 3)")
    backfill(project, from_batch=1, through_batch=2)
    figures = project.figures("items")
    assert (figures["events"], figures["rows_affected"]) == (4, 2)
    assert rows(project) == [row for row in before if row[0] != 3]


def test_progress_stays(project: Any) -> None:
    project.append_events(4, (4, "c", 4, DAY.format(4), "new"))
    backfill(project, through_batch=1)
    assert project.figures("items")["events"] == 4
    project.dbt("run")
    assert project.figures("items")["events"] == 1
    assert rows(project)[-2] == (4, 4, "new")


def test_rejected_events_are_replayed_after_the_parser_is_mended(
    make_project: Callable[..., Any],
) -> None:
    parsed = BATCH.replace("select id,", "select try_cast(v as bigint) as id, _batch_id,")
    made = make_project(
        "replay",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": parsed,
            "models/items.sql": merged({"order_by": "lsn"}),
        },
    )
    for batch, v in enumerate(("1", "#2", "#3", "4")):
        made.append_events(batch, (0, "c", batch, None, v))
    made.dbt("run")
    kept = "from {s}.items__rejected"
    ids = "get_json_object(event, '$._batch_id')"
    window = made.sql(f"select min(int({ids})) as lo, max(int({ids})) as hi, count(*) as n {kept}")
    assert window.values.tolist() == [[1, 2, 2]]
    assert made.read("select id from {s}.items order by id")["id"].tolist() == [1, 4]

    made.write({"models/batch.sql": parsed.replace("try_cast(v", "try_cast(ltrim('#', v)")})
    backfill(made, from_batch=1, through_batch=2)
    assert made.figures("items")["events"] == 2
    assert made.read("select id from {s}.items order by id")["id"].tolist() == [1, 2, 3, 4]


def test_a_window_of_time(project: Any) -> None:
    events = f"{project.schema}.events"
    project.session.sql(f"alter table {events} add columns (_source_timestamp timestamp)")
    project.session.sql(
        f"update {events} set _source_timestamp ="
        " timestampadd(day, _batch_id, timestamp'2024-02-29 00:00:00 UTC')"
    )
    before = rows(project)
    # Both ends are times of batches. YAML takes the first for a date and not for a text.
    window = "{from_time: 2024-03-01, before_time: '2024-03-03T00:00:00'}"
    project.dbt("run", "--vars", f"{{alluvium_backfill: {{items: {window}}}}}")
    assert project.figures("items")["events"] == 4
    # All of it was merged before.
    assert project.figures("items")["rows_affected"] == 0
    assert rows(project) == before


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
    project.session.sql(f"delete from {project.schema}.events where _batch_id = 2")
    backfill(project, from_batch=2, through_batch=2)
    said = "items: the backfill of {from_batch: 2, through_batch: 2} found no event in"
    assert project.said(said)
