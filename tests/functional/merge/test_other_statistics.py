"""Merges that skip files by statistics which are not exact have the rows of a plain MERGE."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from functional.delta_rs import folder_of
from pyspark.sql import SparkSession

from alluvium.merge import one_commit
from alluvium.plan.merge.figures import Merged
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.intervals import one_each
from alluvium.plan.ranges.points import make_points
from alluvium.plan.ranges.predicate import Term

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NUMBER = itertools.count()
NAN = float("nan")


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.sql("create schema if not exists inexact")
    return spark


def merged(session: SparkSession, table: str, batch: str, on: str) -> list[str]:
    """The rows of a clone of the table behind a merge, as texts: NaN is not itself in Python."""
    clone = f"{table}_{next(NUMBER)}"
    session.sql(f"create table {clone} shallow clone {table}")
    sql = (
        f"merge into {clone} t using (select * from values {batch} as b(k, v)) s on {on}"
        " when matched then update set v = s.v when not matched then insert *"
    )
    done = one_commit.merge(session, sql)
    assert isinstance(done, Merged), done
    return sorted(map(str, session.table(clone).collect()))


# Type of the key, what SQL wrote, what delta-rs wrote, and the batch.
CASES = {
    "delta-rs leaves NaN out": ("double", [], [[1.0, NAN]], "(double('NaN'), 'x'), (7d, 'y')"),
    "Spark keeps it": ("double", ["1d, double('NaN')"], [], "(double('NaN'), 'x'), (7d, 'y')"),
    "a float that became a double": (
        "float", ["0.1f, 0.7f"], [], "(0.10000000149011612d, 'x'), (0.699999988079071d, 'y')",
    ),
    "two zeros": ("double", [], [[-0.0], [0.0]], "(-0d, 'x'), (7d, 'y')"),
    "a decimal below its minimum": (
        "decimal(18,2)", [], [[Decimal("1234567890123456.78")]],
        "(cast(1234567890123456.78 as decimal(18, 2)), 'x')",
    ),
    "a decimal above its maximum": (
        "decimal(18,2)", [], [[Decimal("9007199254740993.17")]],
        "(cast(9007199254740993.17 as decimal(18, 2)), 'x')",
    ),
    "bytes that are shown as more": (
        "string", ["cast(x'80' as string), 'é', '中'"], [], "('é', 'x')",
    ),
    "bytes that are shown as less": ("string", ["cast(x'ff' as string), '😀'"], [], "('😀', 'x')"),
    "texts that are cut": (
        "string", ["repeat('😀', 40)", "repeat('z', 31) || '😀😀'"], [["é" * 60], ["😀" * 40]],
        "(repeat('😀', 40), 'x'), (repeat('é', 60), 'y')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_statistics_that_are_not_exact(session: SparkSession, home: Path, case: str) -> None:
    kind, own, others, batch = CASES[case]
    arrow = parse_type(kind)
    table = f"inexact.t{next(NUMBER)}"
    session.sql(
        f"create table {table} (k {kind}, v string) using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    for values in own:
        session.sql(f"insert into {table} select explode(array({values})), 'old'")
    for rows in others:
        columns = {"k": pa.array(rows, arrow, from_pandas=False), "v": ["old"] * len(rows)}
        folder = folder_of(home, "inexact", table.removeprefix("inexact."))
        write_deltalake(folder, pa.table(columns), mode="append")
    if kind == "float":
        widening = "set tblproperties ('delta.enableTypeWidening' = 'true')"
        for change in (widening, "alter column k type double"):
            session.sql(f"alter table {table} {change}")
        arrow = pa.float64()
    keys = session.sql(f"select k from values {batch} as b(k, v)").toArrow()["k"].cast(arrow)
    bounds = one_each(make_points(keys)).joined(np.array([], dtype=np.int64))
    on = Term("k", bounds, or_null=False).sql("t.")
    plain = merged(session, table, batch, "t.k = s.k")
    assert merged(session, table, batch, f"{on} and t.k = s.k") == plain
    assert len(plain) >= session.table(table).count()
