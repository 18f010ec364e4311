"""Row groups of compacted files: no column chunk is larger than `max_memory`."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from functional.compaction import tables
from pyspark.sql import SparkSession
from support.opens import counting

from alluvium.compact import history
from alluvium.compact.outcome import Compacted
from alluvium.compact.run import compact
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.compaction import row_groups
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark
AGAIN = "written again"


def make(path: Path, files: int, rows: int, message: Callable[[int, int], str]) -> None:
    """A table with so many files of so many rows, with a text of file and id."""
    for file in range(files):
        ids = range(file * rows, (file + 1) * rows)
        columns = {
            "service": [f"s{one % 7}" for one in ids],
            "id": list(ids),
            "message": [message(file, one) for one in ids],
        }
        write_deltalake(path, pa.table(columns), mode="append")


def sha512(*of: int) -> str:
    return hashlib.sha512("/".join(map(str, of)).encode()).hexdigest()


def compacted(session: SparkSession, path: Path, files: int, max_memory: int) -> Compacted:
    """Merge all files into one, of which nothing is left behind, and no row has changed.

    What the log says of the files that it opened and wrote is what the file system has seen.
    """
    table = f"delta.`{path}`"
    before = tables.read(path)
    data = set(path.glob("*.parquet"))
    layout = Layout(tables.SORT_BY, fan_in=files, target_rows=10**6, max_memory=max_memory)
    with counting(session) as opens:
        done = compact(session, table, layout, "logs")
        opened = {name: count for name, count in opens().items() if name.startswith("part-")}
    [figures] = history.compactions(session, table).to_pylist()
    assert figures["files_opened"] == sum(opened.values())
    assert figures["files_written"] == len(opened.keys() - {file.name for file in data})
    assert (done.inputs, done.outputs) == (files, 1)
    assert tables.read(path) == before
    assert set(path.glob("*.parquet")) == data | set(tables.files_of(path))
    return done


def chunks(path: Path) -> list[tuple[int, int]]:
    """Rows, and bytes of the largest column chunk, of each row group of the only file."""
    [file] = tables.files_of(path)
    footer = pq.ParquetFile(file).metadata
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    return [
        (
            group.num_rows,
            max(group.column(one).total_uncompressed_size for one in range(group.num_columns)),
        )
        for group in groups
    ]


def test_sized_by_the_heaviest_column_of_the_inputs(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "table"
    make(path, files=8, rows=200, message=lambda _, one: sha512(one) * 8)
    max_memory = 200_000
    with caplog.at_level(logging.INFO):
        compacted(spark, path, 8, max_memory)
    made = chunks(path)
    assert max(size for _, size in made) <= max_memory
    assert max(size for _, size in made) > max_memory / 2
    assert len(made) > 8
    assert AGAIN not in caplog.text


@pytest.mark.slow
def test_by_default_as_large_as_they_come(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table"
    make(path, files=8, rows=200, message=lambda _, one: sha512(one) * 8)
    compacted(spark, path, 8, Layout.max_memory)
    assert len(chunks(path)) == 1


def test_written_again_where_the_estimate_was_wrong(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each input repeats one long text, which Parquet keeps once; together they are too many."""
    path = tmp_path / "table"
    longs = ["".join(sha512(file, n) for n in range(256)) for file in range(16)]
    make(path, files=16, rows=8, message=lambda file, _: longs[file])
    max_memory = 128 * 1024
    with caplog.at_level(logging.INFO):
        compacted(spark, path, 16, max_memory)
    assert AGAIN in caplog.text
    [figures] = history.compactions(spark, f"delta.`{path}`").to_pylist()
    assert figures["files_written"] > figures["outputs"] == 1
    assert max(size for _, size in chunks(path)) <= max_memory


@pytest.mark.slow
def test_heavy_rows_that_come_to_lie_together(spark: SparkSession, tmp_path: Path) -> None:
    """Few of them do not make small row groups of all."""
    path = tmp_path / "table"
    table = f"delta.`{path}`"
    spark.sql(f"create table {table} (service string, id bigint, message string) using delta")
    long = "concat_ws('', transform(sequence(1, 80), n -> sha2(concat(id, '/', n), 512)))"
    values = spark.range(64 * 500).selectExpr(
        "if(id % 500 < 8, 'z', 'a') as service",
        "id",
        f"if(id % 500 < 8, {long}, sha1(string(id))) as message",
    )
    values.coalesce(1).write.format("delta").mode("append").option("maxRecordsPerFile", 500).save(
        str(path)
    )
    max_memory = 256 * 1024
    compacted(spark, path, 64, max_memory)
    made = chunks(path)
    assert max(size for _, size in made) <= max_memory
    # 512 rows of 10 KiB, and 31,488 of 44 bytes.
    assert len(made) < 80


@pytest.mark.slow
def test_a_storage_that_refuses_to_delete_stops_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableFiles(spark, tables.make(spark, tmp_path / "table", 1))
    path = table.copy.jvm.org.apache.hadoop.fs.Path("http://127.0.0.1/part-0.parquet")
    # Hadoop cannot delete over HTTP, and says so by an exception that pyspark knows.
    Rewriter(table)._delete([SimpleNamespace(absolutePath=lambda _: path)])


@pytest.mark.slow
def test_only_the_merge_that_has_them_is_written_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where nothing may be deleted, what is in the way stays for VACUUM."""
    monkeypatch.setattr(Rewriter, "_delete", lambda *_: None)
    path = tmp_path / "table"
    table = f"delta.`{path}`"
    spark.sql(
        f"create table {table} (service string, id bigint, message string, kind string)"
        " using delta partitioned by (kind)"
    )
    long = "concat_ws('', transform(sequence(1, 256), n -> sha2(concat(id div 8, '/', n), 512)))"
    for kind, message in (("heavy", long), ("light", "'m'")):
        values = spark.range(64 * 8).selectExpr(
            "concat('s', id % 7) as service",
            "id",
            f"{message} as message",
            f"'{kind}' as kind",
        )
        values.coalesce(1).write.format("delta").mode("append").option("maxRecordsPerFile", 8).save(
            str(path)
        )
    before = tables.rows_of(spark, table)
    layout = Layout(
        tables.SORT_BY, bucket_column="kind", window="day", fan_in=64, max_memory=512 * 1024
    )
    compact(spark, table, layout, "logs")
    assert tables.rows_of(spark, table) == before
    written = {
        json.loads(one["bucket"])["kind"]: one["files_written"]
        for one in history.compactions(spark, table).to_pylist()
    }
    assert written["light"] == 1 < written["heavy"]


@pytest.mark.slow
def test_a_row_that_is_too_large_has_a_row_group_of_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    make(path, files=8, rows=3, message=lambda _, one: sha512(one) * 800)
    compacted(spark, path, 8, max_memory=10_000)
    assert [rows for rows, _ in chunks(path)] == [1] * 24


@pytest.mark.slow
def test_after_four_tries_the_files_stay_as_they_are_with_a_warning(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "table"
    table = tables.make(spark, path, 8)
    before = tables.rows_of(spark, table)
    old = set(path.glob("*.parquet"))
    monkeypatch.setattr(row_groups, "rows_to_try", lambda *_: 10)
    with caplog.at_level(logging.WARNING, "alluvium"):
        done = compact(spark, table, Layout(tables.SORT_BY, fan_in=8), "logs")
    assert (done.merges, done.outputs) == (1, 1)
    assert [one.message for one in caplog.records] == [
        f"a column chunk is larger than max_memory ({Layout.max_memory})"
    ]
    assert history.compactions(spark, table)["files_written"].to_pylist() == [4]
    # Those of the tries before are deleted.
    assert set(path.glob("*.parquet")) - old == set(tables.files_of(path))
    assert tables.rows_of(spark, table) == before
