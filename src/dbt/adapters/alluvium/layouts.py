"""Layouts of models: `meta.alluvium_layout` between dbt and the library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from alluvium.compaction import report, run
from alluvium.compaction.errors import LayoutError
from alluvium.compaction.layout import parse_layout

META = "alluvium_layout"
_log = AdapterLogger("Alluvium")


def mistakes(models: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every mistake in the layouts of the graph's models, before anything runs."""
    found = []
    for model in models:
        meta = (model.get("config") or {}).get("meta") or {}
        if META in meta:
            try:
                parse_layout(model["name"], meta[META])
            except LayoutError as error:
                found += [f"{error.model}: meta.{META}.{mistake}" for mistake in error.mistakes]
    return found


def preview(session: SparkSession, table: str, model: str, block: Any) -> list[str]:
    with _layout_errors():
        plan, fragments = run.preview(session, table, parse_layout(model, block), model)
    return list(report.plan_lines(model, plan, fragments.num_rows))


def compact(session: SparkSession, table: str, model: str, block: Any) -> str:
    with _layout_errors():
        done = run.compact(session, table, parse_layout(model, block), model, say=_log.info)
    return report.done_line(model, done)


@contextmanager
def _layout_errors() -> Iterator[None]:
    """Let a layout that a table cannot have pass as dbt's own error."""
    try:
        yield
    except LayoutError as error:
        raise DbtRuntimeError(str(error)) from error
