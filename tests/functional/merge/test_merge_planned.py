"""`cover` and `auto` over several batches, planned by a Python model and by the merge itself, while
another writer lays the table's files out anew between the plan and the merge."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from functional.merge.conftest import SOURCES, merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PLANNER = """
from alluvium.merge import plan_ranges


def model(dbt, session):
    return plan_ranges(session, dbt.ref("batch"))
"""
BATCH = """
{{ config(materialized='table') }}
select id, op, lsn, at, v, _batch_through, _batch_after
from {{ alluvium.new_events(source('raw', 'events'), 'by_merge') }}
"""
BODY = "-- depends_on: {{ ref('plans') }}\nselect * from {{ ref('batch') }}"
MERGED = ("by_merge", "by_model")
# (id, op, lsn, whether it has the time, v)
Event = tuple[int, str, int, bool, str]
ROWS = 2400
HOUR = "timestamp'2024-01-01' + make_dt_interval(0, cast(id as int))"
# Files of the table, and files that another writer makes of them before the second merge: `auto`
# looks at a batch only where there are some hundred files to leave out.
METHODS = {
    "cover": ({"method": "cover", "k": 4}, 24, 12),
    "auto": ({"method": "auto"}, 160, 130),
}


@pytest.fixture(scope="module", params=["auto", "cover"])
def project(request: pytest.FixtureRequest, make_project: Callable[..., Any]) -> Any:
    ranges, files, _ = METHODS[request.param]
    meta = {"order_by": "lsn", "delete_when": "op = 'd'", "ranges": {"column": "at"} | ranges}
    planned = meta | {"ranges": {"column": "at", "model": "plans"} | ranges}
    made = make_project(
        f"planned_{request.param}",
        {
            "models/sources.yml": SOURCES,
            "models/batch.sql": BATCH,
            "models/plans.py": PLANNER,
            "models/by_merge.sql": merged(meta, "select * from {{ ref('batch') }}"),
            "models/by_model.sql": merged(planned, BODY),
        },
    )
    made.session.sql(f"create schema {made.schema}")
    for name in MERGED:
        made.session.sql(
            f"create table {made.schema}.{name} (id bigint, op string, lsn bigint, at timestamp,"
            " v string, _deleted boolean) using delta"
            " tblproperties ('delta.enableDeletionVectors'='true')"
        )
        rows = made.session.range(ROWS).selectExpr(
            "id", "'c' as op", "0L as lsn", f"{HOUR} as at", "'old' as v", "false as _deleted"
        )
        rows.repartitionByRange(files, "id").writeTo(f"{made.schema}.{name}").append()
    return made


def events(rng: random.Random, batch: int) -> list[Event]:
    """Recent traffic, two old spots, new rows."""
    spots = [rng.randrange(ROWS // 2), rng.randrange(ROWS // 2)]
    ids = [rng.randrange(ROWS - ROWS // 40, ROWS + 10 * batch) for _ in range(20)]
    ids += [spot + rng.randrange(5) for spot in spots for _ in range(3)]
    rows = []
    for place, number in enumerate(ids):
        op = "d" if rng.random() < 0.2 else "u"
        # An event may come late, and a delete of a recent row with its key alone.
        lsn = 100 * batch + place - (150 if rng.random() < 0.1 else 0)
        has_time = op == "u" or number < ROWS // 2 or rng.random() < 0.5
        rows.append((number, op, lsn, has_time, f"{batch}"))
    return rows


def append(project: Any, batch: int, rows: list[Event]) -> None:
    project.session.sql(
        f"create table if not exists {project.schema}.events (id bigint, op string, lsn bigint,"
        " at timestamp, v string, _batch_id bigint) using delta"
    )
    frame = project.session.createDataFrame(
        rows, "id bigint, op string, lsn bigint, has_time boolean, v string"
    )
    frame.selectExpr(
        "id", "op", "lsn", f"if(has_time, {HOUR}, null) as at", "v", f"{batch}L as _batch_id"
    ).coalesce(1).writeTo(f"{project.schema}.events").append()


def lay_out(project: Any, table: str, files: int) -> None:
    """Another writer's OPTIMIZE, into about so many files."""
    session = project.session.newSession()
    size = session.sql(f"describe detail {project.schema}.{table}").first()["sizeInBytes"]
    session.conf.set("spark.databricks.delta.optimize.maxFileSize", size // files)
    session.sql(f"optimize {project.schema}.{table} zorder by (id)").collect()


def replay(batches: list[list[Event]]) -> list[tuple[Any, ...]]:
    duck = duckdb.connect()
    duck.execute(
        "create table e as select range as id, 'c' as op, 0 as lsn, 'old' as v, 0 as n"
        f" from range({ROWS})"
    )
    for number, batch in enumerate(batches):
        rows = [(one[0], one[1], one[2], one[4], number + 1) for one in batch]
        duck.executemany("insert into e values (?, ?, ?, ?, ?)", rows)
    return duck.execute(
        "select id, max(lsn), arg_max(v, lsn) from e group by id"
        " having arg_max(op, lsn) != 'd' order by id"
    ).fetchall()


def check(project: Any, batches: list[list[Event]]) -> None:
    for name in MERGED:
        table = f"{project.schema}.{name}"
        live = project.session.sql(
            f"select id, lsn, v from {table} where not _deleted order by id"
        ).collect()
        assert [tuple(row) for row in live] == replay(batches), (name, len(batches))
        [keys] = project.session.sql(f"select count(*), count(distinct id) from {table}").collect()
        assert keys[0] == keys[1], (name, len(batches))


def test_batches_while_the_files_change(project: Any) -> None:
    method = project.schema.removeprefix("planned_")
    _, _, fewer = METHODS[method]
    rng = random.Random(f"planned, {method}")
    batches = [events(rng, batch) for batch in (1, 2, 3)]

    append(project, 1, batches[0])
    project.dbt("run")
    check(project, batches[:1])
    for name in MERGED:
        figures = project.figures(name)
        assert figures["method"] == "cover"
        assert figures["ranges"] >= 2
        assert figures["files_kept"] <= figures["files_total"] // 2

    # The ranges are planned, and then the files are others.
    append(project, 2, batches[1])
    project.dbt("run", "--select", "batch", "plans")
    for name in MERGED:
        lay_out(project, name, fewer)
    project.dbt("run", "--select", *MERGED)
    check(project, batches[:2])
    for name in MERGED:
        figures = project.figures(name)
        assert figures["method"] == "cover"
        assert figures["files_kept"] <= figures["files_total"] // 2

    # One file: there is nothing to leave unread.
    append(project, 3, batches[2])
    project.dbt("run", "--select", "batch", "plans")
    for name in MERGED:
        lay_out(project, name, 1)
    project.dbt("run", "--select", *MERGED)
    check(project, batches)
    for name in MERGED:
        figures = project.figures(name)
        assert (figures["files_kept"], figures["files_total"]) == (1, 1)
        assert (figures["method"], figures["ranges"]) == (
            ("none", 0) if method == "auto" else ("cover", 1)
        )
