"""Ranges that SQL computes in the merge, on values of every type: no match is ever hidden."""

import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from support.rendered import Macros, Node, Relation, columns
from unit.ranges.columns import TYPES

from alluvium.plan.ranges.column_type import spark_type

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"


@pytest.fixture(scope="module")
def macros(spark: SparkSession) -> Macros:
    """The macros of a stock target, which has no other way to ranges."""
    made = Macros()
    made.context["target"] = SimpleNamespace(type="spark")
    made.context["run_query"] = lambda sql: SimpleNamespace(rows=spark.sql(sql).collect())
    return made


@given(st.data())
@settings(max_examples=8)
def test_every_row_that_an_event_may_match_is_kept(
    spark: SparkSession, macros: Macros, data: st.DataObject
) -> None:
    check(spark, macros, data)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=40)
def test_many_drawn_events(spark: SparkSession, macros: Macros, data: st.DataObject) -> None:
    check(spark, macros, data)


def check(spark: SparkSession, macros: Macros, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(TYPES)))
    kind, values = TYPES[name]
    method, k = data.draw(st.sampled_from(["min_max", "gaps"])), data.draw(st.integers(1, 5))
    events = data.draw(
        st.lists(st.tuples(st.integers(0, 30), st.none() | values), min_size=1, max_size=15)
    )
    others = data.draw(st.lists(st.none() | values, min_size=1, max_size=5))
    # Rows that an event may match: those of its key, and of its value where it has one.
    rows = [(key, value) for key, value in events if value is not None]
    rows += [(key, other) for key, value in events if value is None for other in others]

    spark.conf.set(ZONE, data.draw(st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"])))
    try:
        view(spark, "sql_ranges_batch", events, kind)
        view(spark, "sql_ranges_target", rows, kind)
        predicate = planned(macros, spark_type(kind), method, k)
        kept = spark.sql(
            f"select count_if({predicate}), count(*) from sql_ranges_target as DBT_INTERNAL_DEST"
        ).first()
    finally:
        spark.conf.set(ZONE, "UTC")
    assert kept is not None
    assert kept[0] == kept[1] == len(rows), predicate


def view(spark: SparkSession, name: str, rows: list[tuple[int, Any]], kind: pa.DataType) -> None:
    keys, values = (list(column) for column in zip(*rows, strict=True))
    # An array of values keeps NaN apart from NULL.
    table = pa.table({"id": pa.array(keys, pa.int64()), "c": pa.array(values, kind)})
    spark.createDataFrame(table).createOrReplaceTempView(name)


def planned(macros: Macros, kind: str, method: str, k: int) -> str:
    """The predicate on the merged table, as `_merge_plan` makes it."""
    node = Node({"order_by": "c", "ranges": {"column": "c", "method": method, "k": k}})
    macros.know(node)
    batch, given = "sql_ranges_batch", columns(id="bigint", c=kind)
    table = {"columns": given, "partitions": [], "made": {}, "padded": [], "limits": {}}
    outline = macros.merge_outline(node, Relation("sql_ranges_target"), table, given)
    look = macros.merge_look(batch, outline, [])
    run = macros.context["run_query"]
    profile = macros.merge_profile(run(look["profile"]).rows, [])
    choice = macros.range_choice(outline["settings"], profile, False)
    bounds = [profile] if choice == "min_max" else []
    if choice == "gaps":
        bounds = json.loads(run(look["gaps"]).rows[0][0])
        assert 1 <= len(bounds) <= k
    written_by = None if choice == "none" else choice
    target = Relation("sql_ranges_target")
    texts = macros.merge_texts(node, target, batch, outline, profile, bounds, written_by)
    return texts["predicate"] or "true"
