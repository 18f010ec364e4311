"""A streaming table with a layout: buckets made from a timestamp, files in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from functional.sorted_files import files_of, is_sorted
from functional.stream.bronze import VIEW, Bronze
from functional.stream.test_dbt import SOURCE, make, sources_yml

from alluvium import ingest as stream
from alluvium.ingest import micro_batches
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
    found = bronze.session.table(bronze.name).toPandas()
    assert len(found) == rows
    days = pd.to_datetime(found["at_day"])
    assert (days.isna() == found["at"].isna()).all()
    assert (days.dropna() == found["at"].dropna().dt.normalize()).all()


def test_one_sorted_file_a_bucket_and_trigger(make_bronze: Make) -> None:
    bronze = make_bronze(sql=SQL, target=TARGET)
    # Nothing there: the table, with its column.
    bronze.run()
    seen: set[Path] = set()
    for number, days in enumerate((3, 4), start=1):
        for part in "ab":
            bronze.land(f"{number}{part}.txt", lines(number, days))
        figures = bronze.run()
        assert figures.output_files == days + 1  # and one for NULL
        files = files_of(bronze.session, bronze.name)
        assert len(files - seen) == days + 1
        assert all(is_sorted(path, SORT_BY) for path in files - seen)
        seen = files
    check(bronze, 4 * 301)
    # A column more, and then all again: the first commit replaces the table.
    bronze.sql = SQL.replace("as at", "as at, _value as line")
    bronze.land("3.txt", lines(3, 2))
    bronze.run()
    check(bronze, 5 * 301)
    versions = bronze.versions()
    bronze.run(full_refresh=True)
    assert bronze.versions() == versions + 1
    check(bronze, 5 * 301)
    files = files_of(bronze.session, bronze.name)
    assert len(files) == 5
    assert all(is_sorted(path, SORT_BY) for path in files)


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
    files = files_of(bronze.session, bronze.name)
    assert len(files) == 6
    assert all(is_sorted(path, SORT_BY) for path in files)


def test_a_full_refresh_over_an_empty_source_keeps_the_column(make_bronze: Make) -> None:
    bronze = make_bronze(sql=SQL, target=TARGET)
    bronze.land("1.txt", lines(1, 2))
    bronze.run()
    (bronze.landing / "1.txt").unlink()
    bronze.run(full_refresh=True)
    check(bronze, 0)
    bronze.land("2.txt", lines(2, 2))
    bronze.run()
    check(bronze, 301)


@pytest.mark.slow
def test_a_bucket_that_is_taken_away_stays_until_a_full_refresh(make_bronze: Make) -> None:
    bronze = make_bronze(sql=SQL, target=TARGET)
    bronze.land("1.txt", lines(1, 2))
    bronze.run()
    bronze.target = {}
    bronze.land("2.txt", lines(2, 3))
    bronze.run()
    check(bronze, 2 * 301)
    bronze.run(full_refresh=True)
    rows = bronze.session.table(bronze.name)
    assert rows.count() == 2 * 301
    assert "at_day" not in rows.columns


def test_what_is_refused(make_bronze: Make) -> None:
    bronze = make_bronze(sql=SQL)
    bronze.land("1.txt", lines(1, 2))
    bronze.run()
    versions = bronze.versions()
    bronze.target = TARGET
    with pytest.raises(stream.StreamError, match="no generated partition column at_day"):
        bronze.run()
    bronze.target = {"sort_by": ("nothing",)}
    with pytest.raises(stream.StreamError, match="sort_by names nothing"):
        bronze.run()
    bronze.target = {"bucket": GeneratedColumn("service", "day"), "partition_by": ("service_day",)}
    with pytest.raises(stream.StreamError, match="'service' is string; accepted"):
        bronze.run()
    assert bronze.versions() == versions
    bronze.target = TARGET
    bronze.run(full_refresh=True)
    check(bronze, 301)


def test_dbt_hands_the_layout_on(home: Path, tmp_path: Path) -> None:
    project = make(tmp_path, home)
    layout = {
        "sort_by": ["_value"],
        "bucket_by": {"column": "_source_timestamp", "window": "hour"},
    }
    model = {
        "name": "laid_events",
        "config": {"materialized": "streaming_table", "meta": {"alluvium_layout": layout}},
    }
    (tmp_path / "models/events.sql").unlink()
    project.write(
        {
            "models/s.yml": sources_yml(SOURCE, models=[model]),
            "models/laid_events.sql": "select * from {{ source('landing', 'feed') }}",
            "landing/1.txt": "c\nb\na\nd\n",
        }
    )
    project.dbt("run")
    rows = project.sql("select * from {s}.laid_events")
    hours = rows["_source_timestamp"].dt.floor("h")
    assert (rows["_source_timestamp_hour"] == hours).all()
    [file] = files_of(project.session, "streams.laid_events")
    assert is_sorted(file, ("_value", "_source_timestamp"))
    project.write({"landing/2.txt": "z\ny\n"})
    project.dbt("run")
    assert len(project.sql("select * from {s}.laid_events")) == 6
