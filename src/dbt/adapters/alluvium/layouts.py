"""Layouts of models: `meta.alluvium_layout` between dbt and the library."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField

from alluvium.compact import report, run
from alluvium.compact.index import add_indexes
from alluvium.compact.outcome import MergeError
from alluvium.delta.rewrite import automata
from alluvium.delta.rewrite.table_files import TableFiles, check_sort_key
from alluvium.engine.causes import is_cancelled, reason
from alluvium.names import bare
from alluvium.plan.layout.errors import LayoutError
from alluvium.plan.layout.generated import (
    GeneratedColumn,
    completed_query,
    generated_column,
    with_time,
)
from alluvium.plan.layout.settings import META, Layout, parse_layout
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.named import partitions

_log = AdapterLogger("Alluvium")


def mistakes(models: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every mistake in the layouts of the graph's models, before anything runs."""
    found = []
    for model in models:
        config = model.get("config") or {}
        meta = config.get("meta") or {}
        if META not in meta:
            continue
        try:
            layout = parse_layout(model["name"], meta[META])
        except LayoutError as error:
            found += [f"{error.model}: {mistake}" for mistake in error.mistakes]
            continue
        partition_by = partition_columns(config.get("partition_by"))
        properties = config.get("tblproperties") or {}
        if str(properties.get("delta.enableRowTracking")).lower() == "true":
            found.append(
                f"{model['name']}: meta.{META} with tblproperties delta.enableRowTracking, whose"
                " ids a compaction would change; accepted: without"
            )
        if model.get("language") == "python" and generated(layout, partition_by):
            found.append(
                f"{model['name']}: meta.{META}.bucket_by.column: {layout.bucket_column!r} is not in"
                " partition_by, and the table of a Python model has no generated columns;"
                f" accepted: {', '.join(partition_by) or 'a column of partition_by'}"
            )
    return found


def partition_columns(partition_by: str | Sequence[str] | None) -> list[str]:
    """The columns of `partition_by`, as they are stored."""
    return [bare(name) for name in partitions(partition_by)]


def declared(model: str, block: Any) -> Layout | None:
    """The layout that `meta.alluvium_layout` says; None for a model without."""
    with told.refusals(LayoutError):
        return None if block is None else parse_layout(model, block)


def layout_of(model: str, block: Any, partition_by: str | Sequence[str] | None) -> Layout | None:
    """What it means for a table that is partitioned so: with the time in the sort key."""
    layout = declared(model, block)
    return None if layout is None else with_time(layout, partition_columns(partition_by))


def generated(
    layout: Layout | None, partition_by: str | Sequence[str] | None
) -> GeneratedColumn | None:
    """The column that Delta generates for the buckets of a model; None for none."""
    return None if layout is None else generated_column(layout, partition_columns(partition_by))


def batch_query(
    batch: str,
    computed: Mapping[str, str],
    layout: Layout | None,
    partition_by: str | Sequence[str] | None,
    in_order: bool,
) -> str | None:
    """The rows of the relation `batch` with computed columns, in the layout's order if asked for.

    None where they are to be as they are.
    """
    sort_by = layout.sort_by if layout is not None and in_order else ()
    if not computed and not sort_by:
        return None
    return completed_query(batch, computed, partition_columns(partition_by), sort_by)


def check(
    session: SparkSession,
    model: str,
    layout: Layout,
    fields: Iterable[StructField],
    partition_by: str | Sequence[str] | None,
    table: str | None,
) -> None:
    """Raises DbtRuntimeError, with every reason, unless a table can have the layout.

    fields: columns of the rows that are to be written.
    partition_by: of a new table.
    table: one that is there; it gets those of the columns that it does not have. None for a new
        one.
    """
    mistakes = []

    def allow(check: Callable[..., None], *arguments: Any) -> None:
        try:
            check(*arguments)
        except ValueError as error:
            mistakes.append(str(error))

    if table is None:
        allow(check_sort_key, layout.sort_by, fields, partition_columns(partition_by))
        allow(automata.check, layout.index or (), fields, partition_columns(partition_by))
    else:
        files = TableFiles(session, table)
        allow(files.check_sort_key, layout.sort_by, fields)
        allow(files.check_index, layout.index or (), fields)
        allow(files.check_rewritable)
    if mistakes:
        raise DbtRuntimeError(str(LayoutError(model, mistakes)))


def compact(
    session: SparkSession, table: str, model: str, block: Any, dry_run: bool, is_hook: bool
) -> tuple[list[str], str]:
    """Lines that say what was done, or would be; and what failed, if anything did.

    is_hook: whether to look only where something may be due since the last look."""
    try:
        layout = parse_layout(model, block)
        if dry_run:
            plan, fragments, open_until = run.preview(session, table, layout, model)
            return list(report.plan_lines(model, plan, fragments.num_rows, open_until)), ""
        done, failed = (
            run.compact(session, table, layout, model, say=told.say, may_back_off=is_hook),
            "",
        )
    except LayoutError as error:
        return [], str(error)
    except MergeError as error:
        done, failed = error.done, str(error)
    except Exception as error:
        if is_cancelled(session, error):
            raise
        _log.debug(traceback.format_exc())
        return [], f"{model}: the compaction was stopped by {reason(error)}"
    line = report.done_line(model, done)
    return [line] if line else [], failed


def index(session: SparkSession, table: str, model: str, block: Any, dry_run: bool) -> str:
    """Give files without an index one; the line that says so. `alluvium.compact.index`."""
    with told.refusals(LayoutError):
        layout = parse_layout(model, block)
        done = add_indexes(session, table, layout, model, dry_run=dry_run, say=told.say)
    return report.index_line(model, done, dry_run)
