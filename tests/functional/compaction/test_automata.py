"""Indexes that compactions put into the tags of files, beside what pyarrow reads of the files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from support.automata import from_text, may_contain

from alluvium.compact.run import compact
from alluvium.delta.files import column_values
from alluvium.delta.log import log
from alluvium.delta.rewrite.layout_commits import LayoutCommits
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.automata import Index
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark

ROWS = (
    "select id, concat('s-', id % 40) as service, cast(if(id % 9 = 0, null, id % 5 * 100) as int)"
    " as status, date_add(date'2024-01-01', cast(id % 3 * 7 as int)) as day,"
    " id % 2 = 0 as ok, uuid() as key, cast('é' as char(3)) as padded, timestamp_micros(id) as at"
)


def test_values_are_read_whatever_wrote_the_file(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "select concat('s-', id % 7) few, cast(id % 3 as tinyint) small, cast(null as string) none,"
        " uuid() keys, date_add(date'2020-01-01', cast(id % 5 as int)) day,"
        " if(id % 4 = 0, null, id % 2 = 0) flag, id, concat('x', id % 5000) many,"
        " named_struct('x', 1) nested, timestamp_micros(id) at, cast(id as decimal(9, 2)) price"
        " from range(0, 70000, 1, 1)"
    )
    frame.write.parquet(str(tmp_path / "large"))
    small = frame.limit(500).coalesce(1)
    small.write.parquet(str(tmp_path / "small"))
    small.write.option("parquet.writer.version", "v2").parquet(str(tmp_path / "two"))
    small.write.option("parquet.enable.dictionary", "false").parquet(str(tmp_path / "plain"))
    rows = pa.dataset.dataset(tmp_path / "small").to_table()
    (tmp_path / "arrow").mkdir()
    pq.write_table(rows, tmp_path / "arrow" / "a.parquet", row_group_size=100)
    pq.write_table(rows.slice(0, 0), tmp_path / "arrow" / "empty.parquet")
    (tmp_path / "arrow" / "damaged.parquet").write_bytes(b"PAR1 and no more")
    columns = {
        "few": pa.string(), "small": pa.int8(), "none": pa.string(), "keys": pa.string(),
        "day": pa.date32(), "flag": pa.bool_(), "id": pa.int64(), "many": pa.string(),
        "nested": pa.string(), "at": pa.string(), "price": pa.int64(), "absent": pa.string(),
    }  # fmt: skip
    files = sorted(tmp_path.glob("*/*.parquet"))
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    found = list(
        column_values.distinct(spark, conf, [one.as_uri() for one in files], list(columns.items()))
    )
    unknown = set()
    for file, values in zip(files, found, strict=True):
        named = dict(zip(columns, values, strict=True))
        if file.name == "damaged.parquet":
            assert set(values) == {None}
            continue
        for name in ("nested", "at", "price", "absent"):
            assert named.pop(name) is None
        table = pq.read_table(file)
        for name, some in named.items():
            if some is None:
                unknown.add((file.parent.name, name))
            else:
                assert some.type == (
                    pa.large_string() if columns[name] == pa.string() else columns[name]
                )
                given = some.to_pylist()
                assert set(given) == set(table[name].unique().to_pylist())
                assert len(given) == len(set(given))
    # Without a dictionary, and too large to be looked at.
    assert unknown == {("large", "keys"), ("large", "id")}


def make(spark: SparkSession, path: Path, more: str = "", *, files: int) -> str:
    """A table with so many files of 400 rows."""
    table = f"delta.`{path}`"
    spark.sql(
        f"create table {table} (id bigint, service string, status int, day date, ok boolean,"
        f" key string, padded char(3), at timestamp) using delta {more}"
    )
    spark.sql(f"insert into {table} {ROWS} from range(0, {files * 400}, 1, {files})")
    return table


def indexes(spark: SparkSession, table: str) -> dict[str, dict[str, Index]]:
    """By path, of the files that have any."""
    actions = log.snapshot_of(spark, table).allFiles().collectAsList()
    found = {}
    for action in actions:
        add = json.loads(action.json())["add"]
        said = from_text((add.get("tags") or {}).get("alluvium.automata"))
        if said:
            found[add["path"]] = said
    return found


def check(path: Path, found: dict[str, dict[str, Index]], names: dict[str, str]) -> None:
    """Every value of every file is among those that its tag says.

    names: of columns in files, by those of the table.
    """
    for file, columns in found.items():
        table = pq.read_table(path / file)
        for column, index in columns.items():
            assert column in names.values()
            values: set[Any] = set(table[column].to_pylist())
            assert index.has_null == (None in values)
            assert all(may_contain(index, value) for value in values - {None})
            if index.exact and index.text is None:
                assert sum(high - low + 1 for low, high in index.held) == len(values - {None})


def test_a_compaction_says_which_values_its_files_have(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(
        spark,
        path,
        "tblproperties ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = true)",
        files=8,
    )
    spark.sql(f"alter table {table} rename column service to Team")
    schema = log.snapshot_of(spark, table).metadata().schema()
    names = {
        field["name"]: field["metadata"]["delta.columnMapping.physicalName"]
        for field in json.loads(schema.json())["fields"]
    }
    wanted = ("team", "status", "day", "ok", "key")
    layout = Layout(("Team", "id"), target_rows=1000, fan_in=2, index=wanted)
    compact(spark, table, layout, "m")
    found = indexes(spark, table)
    assert len(found) >= 3
    check(path, found, names)
    said = {column for one in found.values() for column in one}
    # To have both values of `ok` excludes nothing.
    assert {names[name] for name in ("Team", "status", "day")} <= said <= {*names.values()}
    assert names["ok"] not in said
    statuses = [one[names["status"]] for one in found.values() if names["status"] in one]
    assert all(one.exact for one in statuses)
    assert any(one.has_null for one in statuses)
    # Rows that a vector hides stay among the values, and so does a tag of a file with a vector.
    spark.sql(f"delete from {table} where id % 3 = 0 and Team = 's-3'")
    assert indexes(spark, table) == found
    # Another writer's file has none.
    spark.sql(f"optimize {table}")
    assert indexes(spark, table) == {}


def test_the_sort_key_has_indexes_unless_the_layout_says_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    make(spark, tmp_path / "plain", files=4)
    for given, said in ((None, {"service"}), ((), set())):
        path = tmp_path / str(given)
        shutil.copytree(tmp_path / "plain", path)
        table = f"delta.`{path}`"
        layout = Layout(("service", "at"), target_rows=1000, fan_in=4, index=given)
        compact(spark, table, layout, "m")
        found = indexes(spark, table)
        assert {column for one in found.values() for column in one} == said
        check(path, found, {"service": "service"})
    spark.sql(f"insert into {table} (id, service, day) values (1, 's-1', date'+12000-01-01')")
    tags = LayoutCommits(TableFiles(spark, table))
    indexer = tags.indexer(["day"])
    assert indexer is not None
    late = spark.sql(f"select _metadata.file_name from {table} where day > '9999-12-31'").first()
    assert late is not None
    # Python has no such dates, and the log's bounds of them say as much.
    assert tags.index(indexer, [late[0]]).keys() == {late[0]}
    # Readers of such a table look for ids, not for names.
    by_id = f"delta.`{tmp_path}/by_id`"
    spark.sql(
        f"create table {by_id} (service string) using delta"
        " tblproperties ('delta.columnMapping.mode' = 'id')"
    )
    assert LayoutCommits(TableFiles(spark, by_id)).indexer(["service"]) is None
    wrong = Layout(("service",), index=("padded", "At", "nobody", "service"))
    with pytest.raises(LayoutError) as refused:
        compact(spark, table, wrong, "m")
    assert refused.value.mistakes == [
        "index: padded: char(3); accepted: string, tinyint, smallint, int, bigint, boolean, date;"
        " At: timestamp; accepted: string, tinyint, smallint, int, bigint, boolean, date;"
        " nobody: no such column; accepted: id, service, status, day, ok, key, padded, at"
    ]
