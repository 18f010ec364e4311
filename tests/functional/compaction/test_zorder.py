"""Z-orders of real tables: rows lie on the curve, both columns prune, cuts are made once."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta.exceptions import ConcurrentTransactionException
from deltalake import DeltaTable
from functional.compaction import tables
from functional.compaction.catalogued import QUIET, folder_of, live_files, log_of, rows_of
from functional.delta_rs import by_query
from pyspark.sql import SparkSession
from support.curve import axes_of, measured, place
from support.settings import settings

from alluvium.compact.outcome import MergeError
from alluvium.compact.run import compact, preview
from alluvium.delta.rewrite.rewrite import Rewriter
from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.marks import LAYOUT_TAG
from alluvium.merge import progress
from alluvium.plan.layout import sort_key
from alluvium.plan.layout.settings import Layout

pytestmark = pytest.mark.spark

NUMBER = itertools.count()
# Wall clocks there skip an hour and repeat another.
ZONE = ZoneInfo("Europe/Berlin")
STRANGE = {
    "number": (
        "double",
        [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e-308, 5e-324, 1.5, -7.25],
    ),
    "exact": ("decimal(38,5)", [f"{sign}{'9' * 33}.9999{last}" for sign in "-+" for last in "89"]),
    "text": ("string", ["", "\x00", "a", "a\x00", "é", "😀", "\uffff", "a" * 70, "a" * 69 + "b"]),
    "raw": ("binary", [b"", b"\x00", b"\xff" * 70, b"\xff" * 70 + b"\x00", b"\x80"]),
    "at": ("timestamp", ["1969-12-31 23:59:59.999999", "2024-03-31 02:30:00", "1815-06-18"]),
    "wall": ("timestamp_ntz", ["2024-03-31 02:30:00", "2024-03-31 03:00:00.5", "1900-01-01"]),
    "day": ("date", ["1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"]),
    "flag": ("boolean", [True, False]),
    "small": ("tinyint", [-128, 127, 0, 1]),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists curving")
    spark.conf.set("spark.sql.session.timeZone", ZONE.key)
    return spark


def uniform(session: SparkSession, rows: int, files: int, begins: str = "2024-03-01") -> str:
    """A table of two columns without any order: `a`, a whole number, and `at`, within 10 days."""
    name = f"curving.t{next(NUMBER)}"
    session.sql(f"create table {name} (a int, at timestamp, rest string) using delta")
    more(session, name, rows, files, begins)
    return name


def more(session: SparkSession, name: str, rows: int, files: int, begins: str) -> None:
    draw = np.random.default_rng(rows)
    begin = dt.datetime.fromisoformat(begins).replace(tzinfo=ZONE)
    span = draw.integers(10 * 86_400 * 10**6, size=rows)
    columns = [
        draw.integers(1_000_000, size=rows, dtype=np.int32),
        pa.array(span + int(begin.timestamp() * 10**6), pa.timestamp("us", "UTC")),
        [hashlib.sha1(str(number).encode()).hexdigest() for number in range(rows)],
    ]
    made = pa.table(dict(zip(("a", "at", "rest"), columns, strict=True)))
    ends = [rows * number // files for number in range(files + 1)]
    parts = [made.slice(lo, hi - lo) for lo, hi in itertools.pairwise(ends)]
    tables.commit(folder_of(session, name), parts)


def cuts_of(session: SparkSession, table: str) -> list[list[dict[str, Any]]]:
    """Everything that the log says about cuts, read without Delta."""
    found = []
    for action in itertools.chain(*log_of(session, table)):
        app, _, text = action.get("txn", {}).get("appId", "").partition(":")
        if app == "alluvium.zorder" and text:
            found.append(axes_of(text))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns",
    [
        ("number", "exact", "text"),
        ("wall", "raw", "at", "day", "flag"),
        pytest.param(("small", "text"), marks=pytest.mark.slow),
    ],
)
def test_strange_rows_lie_on_the_curve(session: SparkSession, columns: tuple[str, ...]) -> None:
    table = f"curving.t{next(NUMBER)}"
    # A name that has to be quoted, and texts for what Python has no such values of.
    types = {f"{column}-`": STRANGE[column][0] for column in columns}
    quoted = [f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items()]
    session.sql(f"create table {table} ({', '.join(quoted)}, id int) using delta")
    draw = random.Random(len(columns))
    rows = [
        (*(draw.choice([None, *STRANGE[column][1]]) for column in columns), number)
        for number in range(400)
    ]
    given = ["double", "binary", "boolean", "tinyint"]
    texts = [f"c{n} {kind if kind in given else 'string'}" for n, kind in enumerate(types.values())]
    frame = session.createDataFrame(rows, f"{', '.join(texts)}, id int")
    casts = [f"cast(c{number} as {kind}) as c{number}" for number, kind in
             enumerate(types.values())]  # fmt: skip
    frame = frame.selectExpr(*casts, "id").toDF(*types, "id")
    frame.repartition(8, "id").writeTo(table).append()
    before = rows_of(session, table)
    layout = Layout(tuple(types), curve="zorder", target_rows=80, quiet_after=1.0)

    done = compact(session, table, layout, "strange", clock=lambda: QUIET)

    assert rows_of(session, table) == before
    assert (done.rows, done.outputs, done.conflicts) == (400, 5, 0)
    [cuts] = cuts_of(session, table)
    ends = []
    for path, add in live_files(session, table).items():
        tag = json.loads(add["tags"][LAYOUT_TAG])
        file = pq.read_table(folder_of(session, table) / path).select(list(types))
        values = [
            measured(column, kind)
            for column, kind in zip(file.columns, types.values(), strict=True)
        ]
        places = [place(row, cuts) for row in zip(*values, strict=True)]
        plain = [
            column.cast(pa.timestamp("us", column.type.tz))
            if pa.types.is_timestamp(column.type)
            else column
            for column in file.columns
        ]
        arrays = [pa.array(places, pa.int64()), *(one.combine_chunks() for one in plain)]
        keys = sort_key.encode(arrays)
        assert keys == sorted(keys)
        assert (tag["lo"], tag["hi"]) == (keys[0], keys[-1])
        ends.append((tag["lo"], tag["hi"]))
    assert len(ends) == 5
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(sorted(ends)))


@pytest.mark.parametrize(
    "curves", [["zorder"], pytest.param(["zorder", "lexical"], marks=pytest.mark.slow)]
)
def test_both_columns_prune(session: SparkSession, tmp_path: Path, curves: list[str]) -> None:
    """Of 36 files a value of either column is in few, as after Delta's own Z-order."""
    rows, files = 7_200, 36
    plain = uniform(session, rows, 9)
    names = {one: f"delta.`{tmp_path / one}`" for one in (*curves, "optimize")}
    for name in names:
        shutil.copytree(folder_of(session, plain), tmp_path / name)
    for curve in curves:
        layout = Layout(("a", "at"), curve=curve, target_rows=rows // files, quiet_after=1.0)
        compact(session, names[curve], layout, curve, clock=lambda: QUIET)
    size = sum(add["size"] for add in live_files(session, names["zorder"]).values())
    with settings(session, {"spark.databricks.delta.optimize.maxFileSize": str(size // files)}):
        session.sql(f"optimize {names['optimize']} zorder by (a, at)")
    some = by_query(DeltaTable(tmp_path / "zorder"), "select a, at from t where a % 97 = 0")
    kept = {name: share_kept(session, table, some) for name, table in names.items()}

    assert len(live_files(session, names["zorder"])) == files
    assert max(kept["zorder"]) <= 2 * math.sqrt(files) / files, kept
    assert max(kept["zorder"]) <= 1.1 * max(kept["optimize"]), kept
    if "lexical" in curves:
        assert kept["lexical"][0] <= 2 / files
        assert kept["lexical"][1] >= 0.9


def share_kept(session: SparkSession, table: str, some: pa.Table) -> tuple[float, float]:
    """Of the files, those whose bounds hold a value of `a`, and of `at`; the mean of its values."""
    shares = []
    for column in ("a", "at"):
        ends = [ends_of(add, column) for add in live_files(session, table).values()]
        values = [whole(value) for value in some[column].to_pylist()]
        hits = [sum(lo <= value <= hi for lo, hi in ends) for value in values]
        shares.append(sum(hits) / len(hits) / len(ends))
    return shares[0], shares[1]


def ends_of(add: dict[str, Any], column: str) -> tuple[Any, Any]:
    """What the log says of the lowest and the highest value of a file."""
    said = json.loads(add["stats"])
    low, high = (said[end][column] for end in ("minValues", "maxValues"))
    return (low, high) if column == "a" else (whole(_at(low)), whole(_at(high)))


def _at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def whole(value: Any) -> Any:
    """A time without its microseconds, as the log has times."""
    if isinstance(value, dt.datetime):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value


@pytest.mark.parametrize(
    "months",
    [
        {"2025-01-01": "2025-02-01"},
        pytest.param(
            {"2024-04-01": "2024-05-01", "2025-01-01": "2025-02-01"}, marks=pytest.mark.slow
        ),
    ],
    ids=len,
)
def test_cuts_are_made_once_and_hold_what_comes_later(
    session: SparkSession, months: dict[str, str]
) -> None:
    table = uniform(session, 4_000, files=8)
    session.sql(
        f"alter table {table} set tblproperties"
        " ('delta.setTransactionRetentionDuration'='interval 1 second')"
    )
    layout = Layout(
        ("at", "a"), curve="zorder", target_rows=500, fan_in=8, quiet_after=1.0, level_rows=1000
    )
    commits = len(log_of(session, table))
    assert preview(session, table, layout, "t")[0].tasks
    assert len(log_of(session, table)) == commits
    compact(session, table, layout, "t", clock=lambda: QUIET)
    first = set(live_files(session, table))
    assert len(first) == 8
    for month in months:
        more(session, table, 4_000, 8, begins=month)
        compact(session, table, layout, "t", clock=lambda: QUIET)
    assert len(cuts_of(session, table)) == 1
    keys = {
        path: json.loads(add["tags"][LAYOUT_TAG])["row_key"]
        for path, add in live_files(session, table).items()
    }
    assert len(set(keys.values())) == 1
    # Long after the sample its months are still told apart: each has 8 files' rows.
    ends = [ends_of(add, "at") for add in live_files(session, table).values()]
    for begins, over in months.items():
        begin, end = (dt.datetime.fromisoformat(day).replace(tzinfo=ZONE) for day in (begins, over))
        assert 8 <= sum(low < end and high >= begin for low, high in ends) <= 11
    assert not compact(session, table, layout, "t", clock=lambda: QUIET).merges


@pytest.mark.slow
def test_a_column_may_have_the_name_of_the_place(session: SparkSession) -> None:
    table = uniform(session, 100, files=8)
    session.sql(f"alter table {table} add column (_Alluvium_Place int)")
    session.sql(f"update {table} set _Alluvium_Place = 7 * a")
    before = rows_of(session, table)
    layout = Layout(("a", "_alluvium_place"), curve="zorder", target_rows=100, quiet_after=1.0)
    assert compact(session, table, layout, "t", clock=lambda: QUIET).rows == 100
    assert rows_of(session, table) == before


@pytest.mark.slow
def test_cuts_disturb_nobody_and_two_that_make_them_cannot_both(session: SparkSession) -> None:
    table = uniform(session, 100, files=2)
    paths = sorted(live_files(session, table))
    one, two, writer = (Rewriter(TableFiles(session, table)) for _ in range(3))
    made = writer.write([paths], Layout(("a", "at")), 1000)[0].files
    one.make_cuts(("a", "at"), paths)
    with pytest.raises(ConcurrentTransactionException):
        two.make_cuts(("a", "at"), paths)
    writer.commits.commit(paths, [(file, {}) for file in made], "{}")
    again = TableFiles(session, table)
    assert again.cuts(("a", "at")) is not None
    assert again.cuts(("at", "a")) is None
    assert len(cuts_of(session, table)) == 1


@pytest.mark.slow
def test_a_file_that_is_gone_stops_no_cuts(session: SparkSession) -> None:
    table = uniform(session, 1_000, files=4)
    root = folder_of(session, table)
    layout = Layout(("a", "at"), curve="zorder", target_rows=250, fan_in=2, quiet_after=1.0)
    files = {root / path: (root / path).read_bytes() for path in live_files(session, table)}
    gone = next(iter(files))
    gone.unlink()
    with pytest.raises(MergeError, match=gone.name):
        compact(session, table, layout, "t", clock=lambda: QUIET)
    assert len(cuts_of(session, table)) == 1
    gone.write_bytes(files[gone])
    assert compact(session, table, layout, "t", clock=lambda: QUIET).inputs == 4
    # Cuts of nothing would be kept, and divide nothing.
    table = uniform(session, 1_000, files=4)
    root = folder_of(session, table)
    for path in live_files(session, table):
        (root / path).unlink()
    with pytest.raises(Exception, match="FAILED_READ_FILE"):
        compact(session, table, layout, "t", clock=lambda: QUIET)
    assert not cuts_of(session, table)


@pytest.mark.slow
def test_a_clone_goes_on_with_the_cuts(session: SparkSession) -> None:
    table = uniform(session, 1_000, files=4)
    layout = Layout(("a", "at"), curve="zorder", target_rows=250, quiet_after=1.0)
    assert compact(session, table, layout, "t", clock=lambda: QUIET).inputs == 4
    session.sql(f"create table {table}_clone shallow clone {table}")
    progress.copy(session, table, f"{table}_clone")
    assert not compact(session, f"{table}_clone", layout, "t", clock=lambda: QUIET).merges


@pytest.mark.slow
def test_another_curve_heals(session: SparkSession) -> None:
    table = uniform(session, 1_000, files=4)
    before = rows_of(session, table)
    sort_by: Callable[[str], Layout] = lambda curve: Layout(  # noqa: E731
        ("a", "at"), curve=curve, target_rows=250, quiet_after=1.0
    )
    for curve in ("lexical", "zorder", "lexical"):
        assert compact(session, table, sort_by(curve), "t", clock=lambda: QUIET).inputs == 4
        tags = [json.loads(add["tags"][LAYOUT_TAG]) for add in live_files(session, table).values()]
        assert len({one["row_key"] for one in tags}) == 1
        assert tags[0]["row_key"].startswith(curve)
    assert rows_of(session, table) == before
