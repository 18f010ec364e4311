"""Snapshots, segments and blocks of a table: beside delta-rs and PyArrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query
from pyspark.sql import SparkSession
from support.opens import counting
from support.written_log import WrittenLog

from alluvium.delta.files import footers
from alluvium.delta.log import log
from alluvium.report.snapshots import blocks, segments, snapshots

pytestmark = pytest.mark.spark
ITEMS = "told.items"


@pytest.fixture
def items(spark: SparkSession, tmp_path: Path) -> Iterator[WrittenLog]:
    """A table of four versions."""
    spark.sql("create schema if not exists told")
    written = WrittenLog(tmp_path / "items")
    written.commit(4)
    written.commit(2, removes=1)
    written.commit(1, removes=3)
    spark.sql(f"create table {ITEMS} using delta location '{written.folder}'")
    yield written
    spark.sql(f"drop table if exists {ITEMS}")


def told(spark: SparkSession, folder: Path, version: int) -> list[dict[str, Any]]:
    """The segments of a version; those, its blocks and delta-rs agree."""
    own = blocks(spark, ITEMS, version)
    adds = pa.table(DeltaTable(folder, version=version).get_add_actions()).to_pydict()
    assert dict(zip(own["path"].to_pylist(), own["bytes"].to_pylist(), strict=True)) == dict(
        zip(adds["path"], adds["size_bytes"], strict=True)
    )
    found = segments(spark, ITEMS, "items", version)
    assert sum(found["blocks"].to_pylist()) == own.num_rows
    for name in ("row_count", "deleted_rows", "bytes", "bytes_uncompressed"):
        assert sum(found[name].to_pylist()) == sum(own[name].to_pylist()), name
    return found.to_pylist()


def test_every_version_is_that_of_delta_rs(spark: SparkSession, items: WrittenLog) -> None:
    first, *_ = items.live
    items.commit(3, removes=2)
    items.bring_back(first)
    spark.sql(f"alter table {ITEMS} set tblproperties ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"delete from {ITEMS} where id = 1")
    spark.sql(f"optimize {ITEMS}")
    found = snapshots(spark, ITEMS, "items").to_pylist()
    assert [one["version"] for one in found] == list(range(9))
    assert [one["is_head"] for one in found] == [False] * 8 + [True]
    assert [one["operation"] for one in found][-2:] == ["DELETE", "OPTIMIZE"]
    for one in found:
        table = DeltaTable(items.folder, version=one["version"])
        assert one["row_count"] == by_query(table).num_rows
        assert one["blocks"] == len(table.file_uris())
    # A file that came back is of the commit that brought it back, one with a vector stays.
    for version, brought in ((0, []), (7, [3, 4, 5]), (8, [8])):
        own = told(spark, items.folder, version)
        assert sorted(part["segment"] for part in own) == brought
        for name in ("row_count", "bytes", "bytes_uncompressed"):
            assert found[version][name] == sum(part[name] for part in own), name
        assert found[version]["segments"] == len(own)
    with pytest.raises(ValueError, match=r"version is 9; accepted: those of told.items .* 0 to 8"):
        blocks(spark, ITEMS, 9)


def test_each_file_is_opened_once(spark: SparkSession, items: WrittenLog) -> None:
    data = {path.name for path in items.folder.glob("*.parquet")}
    with counting(spark) as opened:
        snapshots(spark, ITEMS, "items")
        every = opened()
        segments(spark, ITEMS, "items")
        live = opened() - every
    assert {name: n for name, n in every.items() if name in data} == dict.fromkeys(data, 1)
    assert {name: n for name, n in live.items() if name in data} == dict.fromkeys(items.live, 1)


@pytest.mark.slow
def test_a_log_that_was_cleaned(spark: SparkSession, items: WrittenLog) -> None:
    """The state of the first version that is whole stands for the commits that are gone."""
    for _ in range(3):
        items.commit(1, removes=1)
    log.snapshot_of(spark, ITEMS).deltaLog().checkpoint()
    items.commit(2)
    whole = snapshots(spark, ITEMS, "items").to_pylist()
    for version in range(6):
        (items.folder / f"_delta_log/{version:020}.json").unlink()
    begun, head = snapshots(spark, ITEMS, "items").to_pylist()
    assert (begun["version"], begun["previous_snapshot_id"], begun["rows_added"]) == (6, None, None)
    assert head["previous_snapshot_id"] == begun["snapshot_id"]
    assert head | {"segments": 0} == whole[-1] | {"segments": 0}
    assert (head["blocks"], head["row_count"], head["rows_added"]) == (5, 15, 6)
    # What version 6 brought has a segment; of the others nobody knows.
    found = {one["segment"]: one["blocks"] for one in told(spark, items.folder, 6)}
    assert found == {None: 2, 6: 1}
    assert begun["segments"] == 2
    with pytest.raises(ValueError, match=r"accepted: those of told\.items that its log tells, 6"):
        segments(spark, ITEMS, "items", 5)


def test_footers_that_cannot_be_read(spark: SparkSession, items: WrittenLog) -> None:
    gone, short, *_ = items.live
    (items.folder / gone).unlink()
    (items.folder / short).write_bytes((items.folder / short).read_bytes()[:-9])
    found = blocks(spark, ITEMS).to_pylist()
    assert {one["path"] for one in found if one["bytes_uncompressed"] is None} == {gone, short}
    # Their rows stand in the log.
    head = snapshots(spark, ITEMS, "items").to_pylist()[-1]
    assert (head["row_count"], head["bytes_uncompressed"]) == (9, None)


def test_footers_say_what_pyarrow_reads(spark: SparkSession, tmp_path: Path) -> None:
    nested = pa.table(
        {
            "a": pa.array([{"b": [1, 2], "c": "x"}] * 5000),
            "d": pa.array(range(5000)),
        }
    )
    codecs = {"a.b.list.element": "zstd", "a.c": "gzip", "d": "none"}
    paths = [tmp_path / "ä ö.parquet", tmp_path / "wide.parquet"]
    pq.write_table(nested, paths[0], row_group_size=1000, compression=codecs)
    pq.write_table(pa.table({f"column_{n:05}": [n] for n in range(2000)}), paths[1])
    uris, sizes = [one.as_uri() for one in paths], [one.stat().st_size for one in paths]
    read = footers.of_many(spark, pa.table({"location": uris, "bytes": sizes})).to_pylist()
    found = {one["location"]: one["footer"] for one in read}
    for path, uri in zip(paths, uris, strict=True):
        ours, footer = found[uri], pq.read_metadata(path)
        assert (ours["rows"], ours["row_groups"]) == (footer.num_rows, footer.num_row_groups)
        groups = [footer.row_group(n) for n in range(footer.num_row_groups)]
        assert ours["bytes_uncompressed"] == sum(group.total_byte_size for group in groups)
        for n, column in enumerate(ours["columns"]):
            chunks = [group.column(n) for group in groups]
            assert column["name"] == chunks[0].path_in_schema
            assert column["bytes"] == sum(one.total_compressed_size for one in chunks)
            plain = sum(one.total_uncompressed_size for one in chunks)
            assert column["bytes_uncompressed"] == plain
        assert len(ours["columns"]) == footer.num_columns
    assert found[uris[0]]["compression"] == "gzip, uncompressed, zstd"
