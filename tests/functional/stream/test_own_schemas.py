"""Parquet and ORC of other writers, beside what DuckDB and pyarrow read of the same files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from functional.stream.bronze import VIEW, Bronze
from pyarrow import orc
from pyspark.errors import PySparkException

from alluvium import ingest as stream

pytestmark = pytest.mark.spark
Make = Callable[..., Bronze]
LARGE = 1 << 40


def values(bronze: Bronze) -> dict[tuple[str, int], Any]:
    """(file, row) of each event, and its value."""
    stream.register_batch_view(bronze.session, bronze.feed, VIEW)
    rows = bronze.session.table(f"`{VIEW}`").collect()
    return {
        (row["_source_partition"], row["_source_offset"]): json.loads(row["_value"]) for row in rows
    }


def land(bronze: Bronze, name: str, table: pa.Table, **options: Any) -> Path:
    path = bronze.landing / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


@pytest.fixture
def parts(make_bronze: Make) -> Bronze:
    bronze = make_bronze(block={"format": "parquet"})
    land(bronze, "1.parquet", pa.table({"id": [1], "qty": pa.array([5], pa.int32())}))
    land(bronze, "2.parquet", pa.table({"id": [2], "qty": pa.array([LARGE], pa.int64())}))
    land(bronze, "3.parquet", pa.table({"ID": [3], "extra": ["x"]}))
    return bronze


def test_each_file_has_its_own_types(parts: Bronze) -> None:
    land(parts, "none.parquet", pa.table({"id": pa.array([], pa.int16())}))
    times = pd.DataFrame(
        {"id": [4], "qty": [1.5], "at": [pd.Timestamp("1969-12-31T23:59:59.9999999")]}
    )
    times.to_parquet(parts.landing / "4.parquet")
    noon = "timestamp_ns '2024-01-01 12:00:00.123456789' as at"
    duckdb.sql(f"copy (select 5 as id, {noon}) to '{parts.landing}/5.parquet' (format parquet)")
    land(parts, "6.parquet", pa.table({"id": [6], "qty": pa.array([0.25], pa.float32())}))
    (parts.landing / "nothing.parquet").write_bytes(b"")
    blank = {"qty": None, "extra": None, "at": None}
    assert values(parts) == {
        ("1.parquet", 0): blank | {"id": 1, "qty": 5},
        ("2.parquet", 0): blank | {"id": 2, "qty": LARGE},
        ("3.parquet", 0): blank | {"id": 3, "extra": "x"},
        ("4.parquet", 0): blank | {"id": 4, "qty": 1.5, "at": "1969-12-31T23:59:59.999999"},
        ("5.parquet", 0): blank | {"id": 5, "at": "2024-01-01T12:00:00.123456"},
        ("6.parquet", 0): blank | {"id": 6, "qty": 0.25},
    }
    # A schema says names and types; a smaller type holds what fits.
    parts.block["schema"] = "Qty int, id bigint, at timestamp"
    for number in (4, 5, 6):
        (parts.landing / f"{number}.parquet").unlink()
    with pytest.raises(PySparkException, match=r"2\.parquet: qty is 1099511627776.*`qty bigint`"):
        values(parts)
    land(parts, "2.parquet", pa.table({"id": [2], "qty": pa.array([7], pa.int64())}))
    assert values(parts) == {
        ("1.parquet", 0): {"Qty": 5, "id": 1, "at": None},
        ("2.parquet", 0): {"Qty": 7, "id": 2, "at": None},
        ("3.parquet", 0): {"Qty": None, "id": 3, "at": None},
    }
    # They are columns, too, by which bronze may be sorted.
    parts.sql = f"select Qty, id, _source_partition from `{VIEW}` where id > 0"
    parts.target["sort_by"] = ("Qty",)
    assert parts.run().line("parts").endswith(", waiting for 1 file of 0 bytes (nothing.parquet)")
    rows = parts.rows()
    assert [(row["Qty"], row["id"]) for row in rows] == [(None, 3), (5, 1), (7, 2)]
    assert [row["_source_partition"] for row in rows] == [f"{n}.parquet" for n in (3, 1, 2)]
    times.to_parquet(parts.landing / "4.parquet")
    duckdb.sql(f"copy (select uuid() as id) to '{parts.landing}/5.parquet' (format parquet)")
    noon = pa.array([dt.time(12)], pa.time64("us"))
    land(parts, "6.parquet", pa.table({"at": noon}))
    land(parts, "7.parquet", pa.table({"at": pa.StructArray.from_arrays([noon], ["noon"])}))
    land(parts, "8.parquet", pa.table({"id": [1]}).select([]))
    with pytest.raises(stream.SpecError) as caught:
        values(parts)
    wrong = "\n".join(caught.value.mistakes)
    assert "4.parquet has the column qty of type double, and int does not hold that" in wrong
    assert "5.parquet has the column id of type FIXED_LEN_BYTE_ARRAY (UUID), which Spark" in wrong
    assert "6.parquet has the column at of type INT64 (TIME(MICROS,false)), which Spark" in wrong
    assert "7.parquet has the column at of type group with times in nanoseconds or times" in wrong
    assert "8.parquet has no columns" in wrong
    del parts.block["schema"]
    with pytest.raises(stream.SpecError, match=r"6\.parquet has the column at .*does not read"):
        values(parts)


def test_a_column_with_the_name_of_sparks_own(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "parquet"})
    land(bronze, "1.parquet", pa.table({"id": [1], "_metadata": ["x"]}))
    away = {"file_path": "file:/other.parquet", "file_name": "other", "_value": 1}
    land(bronze, "2.parquet", pa.table({"id": [LARGE], "_metadata": [away]}))
    assert values(bronze) == {
        ("1.parquet", 0): {"id": 1, "_metadata": "x"},
        ("2.parquet", 0): {"id": LARGE, "_metadata": away},
    }
    bronze.block["schema"] = "id int, `_METADATA` string"
    (bronze.landing / "2.parquet").unlink()
    assert values(bronze) == {("1.parquet", 0): {"id": 1, "_METADATA": "x"}}
    bronze.block["schema"] = "id int, `_metadata` struct<file_path:string>"
    (bronze.landing / "1.parquet").unlink()
    land(bronze, "2.parquet", pa.table({"id": [LARGE], "_metadata": [away]}))
    with pytest.raises(PySparkException, match=r"2\.parquet: id is 1099511627776"):
        values(bronze)


@pytest.mark.slow
def test_what_other_writers_make(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "parquet"})
    bronze.landing.mkdir()
    at = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
    table = pa.table(
        {
            "word": pa.array(["a", "b", None]).dictionary_encode(),
            "large": pa.array(["a", "b", None], pa.large_string()),
            "list": pa.array([[1, 2], [], None], pa.list_(pa.int32())),
            "small": pa.array([1, -2, None], pa.int8()),
            "unsigned": pa.array([1, 2**32 - 1, None], pa.uint32()),
            "huge": pa.array([1, 2**64 - 1, None], pa.uint64()),
            "ms": pa.array([at.replace(microsecond=678000)] * 2 + [None], pa.timestamp("ms")),
            "us": pa.array([at] * 2 + [None], pa.timestamp("us", "UTC")),
            "ns": pa.array([at] * 2 + [None], pa.timestamp("ns", "UTC")),
            "date": pa.array([at.date()] * 2 + [None]),
            "nothing": pa.array([None] * 3, pa.null()),
            "first name": pa.array(["x", "y", None]),
        }
    )
    expected = {
        "word": "a", "large": "a", "list": [1, 2], "small": 1, "unsigned": 1, "huge": 1,
        "ms": "2024-01-02T03:04:05.678000", "us": "2024-01-02T03:04:05.678901Z",
        "ns": "2024-01-02T03:04:05.678901Z", "date": "2024-01-02", "nothing": None,
        "first name": "x",
    }  # fmt: skip
    land(bronze, "arrow.parquet", table)
    land(bronze, "old lists.parquet", table, use_compliant_nested_type=False)
    land(bronze, "no dictionary.parquet", table, use_dictionary=False, compression="zstd")
    land(bronze, "v1.parquet", table, version="1.0", row_group_size=1)
    land(bronze, "int96.parquet", table.select(["us"]), use_deprecated_int96_timestamps=True)
    found = values(bronze)
    for name in ("arrow", "old lists", "no dictionary", "v1"):
        assert found[f"{name}.parquet", 0] == expected, name
        assert found[f"{name}.parquet", 1]["huge"] == 2**64 - 1
        assert set(found[f"{name}.parquet", 2].values()) == {None}
    assert found["int96.parquet", 0]["us"] == expected["us"]
    # So are the parts of a column.
    for name, kind, number in (("ints", pa.int32(), 7), ("bigints", pa.int64(), LARGE)):
        parts = {
            "list": pa.array([[number, None]], pa.list_(kind)),
            "part": pa.array([{"n": number}], pa.struct([("n", kind)])),
        }
        land(bronze, f"{name}.parquet", pa.table(parts))
    whole = {
        (f"{name}.parquet", 0): {"list": [number, None], "part": {"n": number}}
        for name, number in (("ints", 7), ("bigints", LARGE))
    }
    found = values(bronze)
    assert all(found[place].items() >= row.items() for place, row in whole.items())
    bronze.block["schema"] = "list array<bigint>, part struct<n: bigint>"
    found = values(bronze)
    assert {place: found[place] for place in whole} == whole
    for narrow in ("list array<int>", "part struct<n: int>"):
        bronze.block["schema"] = narrow
        with pytest.raises(stream.SpecError, match=r"bigints\.parquet"):
            values(bronze)
    del bronze.block["schema"]
    # Spark notes its schema in a file; who rewrites the file may keep the note of other columns.
    months = "select 1 as id, interval '3' month as gap"
    bronze.session.sql(months).coalesce(1).write.parquet(str(bronze.root / "spark"))
    [path] = (bronze.root / "spark").glob("*.parquet")
    table = pq.read_table(path)
    land(bronze, "rewritten.parquet", table.append_column("more", pa.array([5])))
    assert values(bronze)["rewritten.parquet", 0].items() >= {"id": 1, "more": 5}.items()
    (bronze.landing / "spark.parquet").write_bytes(path.read_bytes())
    assert "MONTH" in str(values(bronze)["spark.parquet", 0]["gap"]).upper()
    # What nobody can read is told with the file and the column; a schema may leave it out.
    nested = pa.table(
        {"id": [1], "s": pa.array([{"at": at}], pa.struct([("at", pa.timestamp("ns"))]))}
    )
    land(bronze, "nested.parquet", nested)
    with pytest.raises(stream.SpecError, match=r"nested\.parquet has the column s .*nanoseconds"):
        values(bronze)
    land(bronze, "nested.parquet", pa.table({"id": [1], "ID": [2]}))
    with pytest.raises(stream.SpecError, match=r"nested\.parquet has the columns id and ID"):
        values(bronze)
    alike = pa.struct([("a", pa.int32()), ("A", pa.int32())])
    land(bronze, "nested.parquet", pa.table({"s": pa.array([[{"a": 1}]], pa.list_(alike))}))
    with pytest.raises(stream.SpecError, match=r"nested\.parquet has the columns s\.a and s\.A"):
        values(bronze)
    (bronze.landing / "nested.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(Exception, match=r"nested\.parquet"):
        values(bronze)


# Lists whose elements are the repeated field itself, as Avro, Thrift and Protobuf once wrote them.
TWO_LEVELS = """message m {
  optional group words (LIST) { repeated binary array (UTF8); }
  optional group n_tuples (LIST) { repeated group n_tuples_tuple { required int32 n; } }
  optional group structs (LIST) { repeated group array { required int32 n; } }
  optional group pairs (LIST) { repeated group element { required int32 n; optional int32 m; } }
  repeated int32 bare;
}"""


def land_two_levels(bronze: Bronze, name: str) -> None:
    """A row of two elements in each list, one of empty ones, and one of none."""
    parquet = bronze.session._jvm.org.apache.parquet
    schema = parquet.schema.MessageTypeParser.parseMessageType(TWO_LEVELS)
    path = bronze.session._jvm.org.apache.hadoop.fs.Path(str(bronze.landing / name))
    writer = parquet.hadoop.example.ExampleParquetWriter.builder(path).withType(schema).build()
    for elements in (2, 0, None):
        row = parquet.example.data.simple.SimpleGroup(schema)
        if elements is not None:
            lists = [row.addGroup(one) for one in ("words", "n_tuples", "structs", "pairs")]
            for n in range(elements):
                lists[0].add("array", f"w{n}")
                lists[1].addGroup("n_tuples_tuple").add("n", n)
                lists[2].addGroup("array").add("n", n)
                lists[3].addGroup("element").add("n", n)
                row.add("bare", n)
        writer.write(row)
    writer.close()


@pytest.mark.slow
def test_lists_of_two_levels(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "parquet"})
    land(bronze, "new.parquet", pa.table({"bare": pa.array([[LARGE]], pa.list_(pa.int64()))}))
    land_two_levels(bronze, "old.parquet")
    structs = [{"n": 0}, {"n": 1}]
    pairs = [one | {"m": None} for one in structs]
    whole = {"words": ["w0", "w1"], "n_tuples": structs, "structs": structs, "pairs": pairs}
    found = values(bronze)
    assert found["old.parquet", 0] == whole | {"bare": [0, 1]}
    assert found["old.parquet", 1] == {one: [] for one in whole} | {"bare": []}
    assert found["old.parquet", 2] == dict.fromkeys(whole) | {"bare": []}
    assert found["new.parquet", 0] == dict.fromkeys(whole) | {"bare": [LARGE]}
    bronze.block["schema"] = "structs array<struct<n: bigint>>, bare array<bigint>"
    found = values(bronze)
    assert found["old.parquet", 0] == {"structs": structs, "bare": [0, 1]}
    assert found["new.parquet", 0] == {"structs": None, "bare": [LARGE]}


@pytest.mark.slow
def test_orc_files_have_their_own_types_too(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "orc"})
    bronze.landing.mkdir()
    orc.write_table(pa.table({"qty": pa.array([5], pa.int32())}), bronze.landing / "1.orc")
    orc.write_table(pa.table({"qty": pa.array([LARGE])}), bronze.landing / "2.orc")
    found = {("1.orc", 0): {"qty": 5}, ("2.orc", 0): {"qty": LARGE}}
    assert values(bronze) == found
    bronze.block["schema"] = "qty bigint"
    assert values(bronze) == found
    typed = bronze.session.table(f"`{VIEW}`").select("qty")
    assert typed.dtypes == [("qty", "bigint")]
    assert {row.qty for row in typed.collect()} == {5, LARGE}
    orc.write_table(pa.table({"_col0": pa.array([6])}), bronze.landing / "2.orc")
    assert values(bronze)["2.orc", 0] == {"qty": 6}
    # Java's writers once had Julian days before 1582, and name no calendar; nor do others.
    first = {"day": dt.date(1, 1, 1), "at": dt.datetime(1500, 2, 28, 23)}
    orc.write_table(
        pa.table({name: [one] for name, one in first.items()}), bronze.landing / "1.orc"
    )
    bronze.session.sql(
        "select date'0001-01-01' as day, timestamp'1500-02-28 23:00' as at"
    ).coalesce(1).write.orc(str(bronze.root / "spark"))
    [written] = (bronze.root / "spark").glob("*.orc")
    whole = written.read_bytes()
    (bronze.landing / "2.orc").write_bytes(whole)
    for schema in ("day date, at timestamp_ntz", None):
        bronze.block["schema"] = schema
        assert [(row["day"], row["at"][:13]) for row in values(bronze).values()] == [
            ("0001-01-01", "1500-02-28T23")
        ] * 2
    # ORC's reader would make NULL of what does not fit, and cut a time to its date.
    bronze.block["schema"] = "qty bigint, at date, part struct<n: int>"
    at = dt.datetime(2024, 1, 2, 3, 4, 5)
    orc.write_table(pa.table({"qty": ["six"], "at": [at]}), bronze.landing / "1.orc")
    orc.write_table(pa.table({"part": [{"n": LARGE}]}), bronze.landing / "2.orc")
    with pytest.raises(stream.SpecError) as caught:
        values(bronze)
    assert [wrong.split(";")[0].split(" has the ")[1] for wrong in caught.value.mistakes] == [
        "column qty of type string, and bigint does not hold that",
        "column at of type timestamp, and date does not hold that",
        "column part of type struct<n:bigint>, and struct<n:int> does not hold that",
    ]
    # One that is cut off is told by its name, whatever ORC meets first.
    bronze.block["schema"] = None
    for length in (len(whole) - 1, len(whole) // 2):
        (bronze.landing / "2.orc").write_bytes(whole[:length])
        with pytest.raises(Exception, match=rf"{bronze.landing}/2\.orc"):
            values(bronze)


@pytest.mark.slow
def test_bytes_as_text(make_bronze: Make) -> None:
    bronze = make_bronze(block={"format": "parquet", "schema": "raw string"})
    bronze.landing.mkdir()
    land(bronze, "1.parquet", pa.table({"raw": ["é".encode(), None]}))
    assert values(bronze) == {("1.parquet", 0): {"raw": "é"}, ("1.parquet", 1): {"raw": None}}
    land(bronze, "2.parquet", pa.table({"raw": [b"\xff\x00a"]}))
    with pytest.raises(PySparkException, match=r"2\.parquet: raw is bytes.*`raw binary`"):
        values(bronze)
    bronze.block["schema"] = "raw binary"
    assert values(bronze)["2.parquet", 0] == {"raw": "/wBh"}
    # Of a writer that calls them text, whose table no other engine would read.
    bronze.block["schema"] = "raw string"
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 3)))
    text = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff\x00a"))
    land(bronze, "2.parquet", pa.table({"raw": text}))
    with pytest.raises(PySparkException, match=r"2\.parquet: raw is bytes.*`raw binary`"):
        values(bronze)
    bronze.block["schema"] = "raw binary"
    assert values(bronze)["2.parquet", 0] == {"raw": "/wBh"}
