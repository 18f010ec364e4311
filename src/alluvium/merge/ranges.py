"""The ranges of a merge: planned for its staged batch, priced again where its table moved on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import log
from alluvium.delta.merge import staged
from alluvium.merge.range_frame import as_frame, group_frame, plan_rows
from alluvium.names import among, quoted
from alluvium.plan.fragment import Fragments
from alluvium.plan.ranges.column_type import parse_type
from alluvium.plan.ranges.errors import RangeError, UnfitError
from alluvium.plan.ranges.intervals import Ranges
from alluvium.plan.ranges.literal import canonical_texts, typed_literal
from alluvium.plan.ranges.plan import ON_FRAGMENTS, Request, cover_runs
from alluvium.plan.ranges.predicate import plan_predicate
from alluvium.plan.ranges.row import RangeRow

# Where the adapter leaves what a Python model is asked for: the request as JSON.
REQUEST = "alluvium.merge.ranges"

_log = logging.getLogger(__name__)


def plan_ranges(session: SparkSession, batch: DataFrame) -> DataFrame:
    """The ranges that the merge of this Python model's batch asks for; see docs/ranges.md.

    The column, the method and its limits are those of the merged model that names this model in
    `meta.alluvium_merge.ranges.model`. The files that `cover` and `auto` look at are its table's.

    Args:
        session: what dbt hands the model.
        batch: the staged batch.

    Returns:
        One row per range, as `alluvium.ranges.plan_frame` returns them; none, with a warning, where
        the column cannot have ranges.

    Raises:
        RangeError: no merge names this model, or the batch has no such column.
    """
    request = session.conf.get(REQUEST, None)
    if request is None:
        raise RangeError(
            "no merge asks this model for ranges: accepted is a model that another one names in"
            " meta.alluvium_merge.ranges.model, on an alluvium target"
        )
    try:
        rows = plan_batch(session, lambda: staged.by_newest_commit(batch), json.loads(request))
    except UnfitError as error:
        _log.warning("%s. The merge goes on without ranges.", error)
        rows = []
    return as_frame(session, rows)


def plan_batch(
    session: SparkSession, rows: Callable[[], DataFrame], request: Mapping[str, Any]
) -> list[RangeRow]:
    """Plan the ranges of a batch as `request` says.

    rows: gives the batch; called after the look at the table, for which it may not be ready yet.
    request: column, method, k, max_ranges, engine, or_null and table. `or_null` says whether the
        merge also reads rows without a value in the column. `table` is the rendered name of the
        merged table, None before it exists.

    Raises:
        UnfitError: the column's values cannot have ranges.
    """
    method, table = request["method"], request.get("table")
    # Before the table exists there is nothing to read, whatever the ranges.
    if method == "none" or (method in ON_FRAGMENTS and table is None):
        return plan_rows(rows(), request["column"], Request("none"))
    wanted = _wanted(request, _fragments(session, request) if method in ON_FRAGMENTS else None)
    batch = rows()
    if table is not None:
        batch = _as_in_table(session, batch, table, [request["column"]])
    return plan_rows(batch, request["column"], wanted)


def _wanted(request: Mapping[str, Any], fragments: Fragments | None) -> Request:
    asked = {name: request[name] for name in ("method", "k", "max_ranges", "or_null", "engine")}
    return Request(fragments=fragments, **asked)


def reprice(
    session: SparkSession, rows: Sequence[RangeRow], request: Mapping[str, Any]
) -> list[RangeRow]:
    """The range rows `rows`, planned again if they looked at another version of the table.

    The rows' ranges hold every value of the batch, so whatever joins some of them does too.
    """
    bounded = [row for row in rows if row.get("lo") is not None]
    known = ("hi", "row_count", "table_version")
    # A model of the user's own may say less: its ranges are taken as they are.
    whole = all(row.get(key) is not None for row in bounded for key in known)
    if not bounded or not whole or request["method"] not in ON_FRAGMENTS:
        return list(rows)
    fragments = _fragments(session, request)
    if fragments.version == bounded[0]["table_version"]:
        return list(rows)
    plan = cover_runs(_runs(session, bounded), _wanted(request, fragments))
    bounds: list[tuple[str | None, str | None]] = [(None, None)]
    if len(plan.ranges):
        texts = canonical_texts(plan.ranges.lo), canonical_texts(plan.ranges.hi)
        bounds = list(zip(*texts, strict=True))
    return [
        RangeRow(
            column_name=bounded[0]["column_name"],
            column_type=bounded[0]["column_type"],
            lo=lo,
            hi=hi,
            method=plan.method,
            table_version=fragments.version,
        )
        for lo, hi in bounds
    ]


def plan_columns(
    session: SparkSession, rows: Callable[[], DataFrame], request: Mapping[str, Any]
) -> dict[str, Any]:
    """The cheapest predicate found on several columns of the merged table.

    rows: gives the batch; called after the look at the table.
    request: columns, keys, max_ranges, table and alias. Columns outside of the key are immutable.
        `table` is the rendered name of the merged table, `alias` its alias.

    Returns `sql`, `true` where nothing is worth it; `ranges`, how many comparisons that makes; and
    `method`, `auto` or `none`. Raises UnfitError where the values of a column cannot have ranges.
    """
    columns = request["columns"]
    fragments = log.fragments(session, request["table"], columns)
    batch = _as_in_table(session, rows(), request["table"], columns)
    keys = [column for column in columns if among(column, request["keys"])]
    groups = group_frame(batch, columns, keys, fragments)
    found = plan_predicate(groups, fragments, request["max_ranges"]).predicate
    return {
        "sql": found.sql(request["alias"]),
        "ranges": found.ranges,
        "method": "auto" if found.ranges else "none",
    }


def _as_in_table(
    session: SparkSession, batch: DataFrame, table: str, columns: Sequence[str]
) -> DataFrame:
    """`columns` of the batch in the table's types: MERGE compares ranges and files in these."""
    names = [F.col(quoted(column)) for column in columns]
    kinds = [field.dataType for field in session.table(table).select(names).schema]
    return batch.select(
        [
            name.cast(kind).alias(column)
            for name, kind, column in zip(names, kinds, columns, strict=True)
        ]
    )


def _runs(session: SparkSession, rows: Sequence[RangeRow]) -> Ranges:
    """The ranges that the rows write as canonical text, which Spark reads."""
    spark_type = rows[0]["column_type"]
    kind = parse_type(spark_type)
    lo, hi = (
        ", ".join(typed_literal(str(text), spark_type) for text in texts)
        for texts in zip(*((row["lo"], row["hi"]) for row in rows), strict=True)
    )
    read = session.sql(f"select inline(arrays_zip(array({lo}), array({hi})))").toArrow()
    bounds = [read.column(place).cast(kind).combine_chunks() for place in (0, 1)]
    return Ranges(
        bounds[0],
        bounds[1],
        np.array([row["row_count"] for row in rows], dtype=np.int64),
    )


def _fragments(session: SparkSession, request: Mapping[str, Any]) -> Fragments:
    return log.fragments(session, request["table"], [request["column"]])[request["column"]]
