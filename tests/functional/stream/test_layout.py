"""A streaming table with a layout: buckets made from a timestamp, files in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from functional import delta_rs
from functional.sorted_files import is_sorted
from functional.stream.bronze import VIEW, Bronze
from support.settings import settings

from alluvium import ingest as stream
from alluvium.ingest import micro_batches
from alluvium.ingest.spec import StreamError
from alluvium.plan.layout.generated import GeneratedColumn

pytestmark = pytest.mark.spark
Make = Callable[..., Bronze]

SORT_BY = ("service", "_source_offset")
SQL = f"""
    select _source_partition, _source_offset, split(_value, ',')[0] as service,
        try_cast(split(_value, ',')[1] as timestamp) as at
    from `{VIEW}`
"""
TARGET: dict[str, Any] = {
    "bucket": GeneratedColumn("at", "day"),
    "partition_by": ("at_day",),
    "sort_by": SORT_BY,
}


def lines(seed: int, days: int, count: int = 300) -> bytes:
    draw = random.Random(seed)
    rows = [
        f"s{draw.randrange(20)},2024-03-{draw.randrange(days) + 1:02} {draw.randrange(24):02}:30:00"
        for _ in range(count)
    ]
    return "\n".join([*rows, "none,unknown", ""]).encode()


def check(bronze: Bronze, rows: int) -> None:
    found = delta_rs.read(bronze.home, f"select * from {bronze.name}")
    assert len(found) == rows
    days = pd.to_datetime(found["at_day"])
    assert (days.isna() == found["at"].isna()).all()
    assert (days.dropna() == found["at"].dropna().dt.normalize()).all()


def files_of(bronze: Bronze) -> set[Path]:
    """The live files of the newest version."""
    return {Path(uri) for uri in bronze.table.file_uris()}


def test_one_sorted_file_a_bucket_and_trigger(make_bronze: Make) -> None:
    """From a table without a layout on; dbt makes one that has it, in `test_dbt`."""
    bronze = make_bronze(sql=SQL)
    for part in "ab":
        bronze.land(f"1{part}.txt", lines(1, 3))
    first = bronze.run().batch_id
    versions = bronze.versions()
    for target, refused in (
        (TARGET, "no generated partition column at_day"),
        ({"sort_by": ("nothing",)}, "sort_by names nothing"),
        (
            {"bucket": GeneratedColumn("service", "day"), "partition_by": ("service_day",)},
            "'service' is string; accepted",
        ),
    ):
        bronze.target = target
        with pytest.raises(stream.StreamError, match=refused):
            bronze.run()
    assert bronze.versions() == versions
    # All again: the first commit replaces the table.
    bronze.target = TARGET | {"tblproperties": {"delta.appendOnly": "false"}}
    figures = bronze.run(full_refresh=True)
    assert bronze.versions() == versions + 1
    assert figures.output_files == 3 + 1  # one for NULL
    seen = files_of(bronze)
    assert len(seen) == 3 + 1
    assert all(is_sorted(path, SORT_BY) for path in seen)
    check(bronze, 2 * 301)
    # A column more.
    bronze.sql = SQL.replace("as at", "as at, _value as line")
    for part in "ab":
        bronze.land(f"2{part}.txt", lines(2, 4))
    figures = bronze.run()
    assert figures.output_files == 4 + 1
    new = files_of(bronze) - seen
    assert len(new) == 4 + 1
    assert all(is_sorted(path, SORT_BY) for path in new)
    check(bronze, 4 * 301)
    # A full refresh over an emptied source leaves an empty table, which keeps its column.
    for path in bronze.landing.iterdir():
        path.unlink()
    bronze.run(full_refresh=True)
    check(bronze, 0)
    assert bronze.table.metadata().configuration["delta.appendOnly"] == "false"
    bronze.land("3.txt", lines(3, 2))
    assert (bronze.run().batch_id or 0) > (first or 0) + 2
    check(bronze, 301)
    assert all(is_sorted(path, SORT_BY) for path in files_of(bronze))


@pytest.mark.slow
def test_several_tasks_of_a_large_trigger(
    make_bronze: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(micro_batches, "BYTES_PER_FILE", 4096)
    bronze = make_bronze(sql=SQL, target=TARGET)
    for number in range(4):
        bronze.land(f"{number}.txt", lines(number, 5))
    bronze.run()
    check(bronze, 4 * 301)
    files = files_of(bronze)
    assert len(files) == 6
    assert all(is_sorted(path, SORT_BY) for path in files)


@pytest.mark.slow
def test_a_bucket_that_is_taken_away_stays_until_a_full_refresh(make_bronze: Make) -> None:
    bronze = make_bronze(sql=SQL, target=TARGET)
    bronze.land("1.txt", lines(1, 2))
    bronze.run()
    bronze.target = {}
    bronze.land("2.txt", lines(2, 3))
    # Delta would compute the column all the same, and the days of another zone.
    told = "at_day is made from at in UTC, and the session's time zone is Asia/Tokyo"
    with (
        settings(bronze.session, {"spark.sql.session.timeZone": "Asia/Tokyo"}),
        pytest.raises(StreamError, match=told),
    ):
        bronze.run()
    bronze.run()
    check(bronze, 2 * 301)
    bronze.run(full_refresh=True)
    rows = bronze.rows()
    assert len(rows) == 2 * 301
    assert "at_day" not in rows[0]
