"""Events of one key that tie in the order: which one stays is a matter of their content alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Rows that differ in a single value, each pair as Spark SQL of that value.
DIFFER = {
    "microseconds": (
        "timestamp'2024-01-01 00:00:00.000001'",
        "timestamp'2024-01-01 00:00:00.000002'",
    ),
    "microseconds_ntz": (
        "timestamp_ntz'2024-01-01 00:00:00.000001'",
        "timestamp_ntz'2024-01-01 00:00:00.000002'",
    ),
    "microseconds_within": (
        "array(timestamp'2024-01-01 00:00:00.000001')",
        "array(timestamp'2024-01-01 00:00:00.000002')",
    ),
    "clocks_put_back": (
        "timestamp'2024-10-27 01:30:00 Europe/Paris'",
        "timestamp'2024-10-27 01:30:00 UTC'",
    ),
    "no_utf8": ("cast(x'61ff' as string)", "cast(x'61fe' as string)"),
    "null_or_its_name": ("cast(null as string)", "'null'"),
    "maps": ("map('a', 1)", "map('a', 2)"),
    "bytes": ("x'ff'", "x'fe'"),
}


@pytest.fixture(scope="module")
def project(feed: Callable[..., Any]) -> Any:
    made = feed("ties", {"order_by": "lsn"})
    newest = "select * from {{ alluvium.deduplicate('arrived', 'id', 'lsn') }}"
    made.write({"models/newest.sql": newest})
    return made


@pytest.fixture(scope="module", params=["t", "stock"])
def newest(request: pytest.FixtureRequest, project: Any) -> str:
    project.dbt("compile", "--select", "newest", "--target", request.param)
    return (project.root / "target/compiled/ties/models/newest.sql").read_text()


@pytest.mark.parametrize("values", DIFFER.values(), ids=DIFFER)
def test_the_same_row_stays_however_they_arrive(
    project: Any, newest: str, values: tuple[str, str]
) -> None:
    session = project.session.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    # Python would show texts that are no UTF-8 all alike.
    told = "select hex(cast(to_json(struct(v)) || cast(struct(v) as string) as binary)) from"
    assert len({session.sql(f"{told} (select {one} as v)").first() for one in values}) == 2
    found = set()
    for order in permutations(values):
        rows = " union all ".join(f"select 1 as id, 1 as lsn, {value} as v" for value in order)
        for parts in (1, 2, 8):
            session.sql(rows).coalesce(1).repartition(parts).createOrReplaceTempView("arrived")
            (row,) = session.sql(f"{told} ({newest})").collect()
            found.add(row)
    assert len(found) == 1


def test_a_tie_with_the_table_changes_nothing(project: Any) -> None:
    at = "2024-01-01 00:00:00.00000{}"
    for batch, last in enumerate((5, 9, 1)):
        project.append_events(batch, (1, "u", 7, at.format(last), str(last)))
        project.dbt("run", "--select", "batch", "items")
        assert project.sql("select v from {s}.items")["v"].tolist() == ["5"]
    assert project.figures("items")["rows_affected"] == 0
