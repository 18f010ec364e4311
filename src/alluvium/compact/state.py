"""What a run sees of its table: the files of one version, as the layout has them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession

from alluvium.delta.rewrite.table_files import TableFiles
from alluvium.plan.layout.errors import refusals
from alluvium.plan.layout.generated import with_time
from alluvium.plan.layout.settings import ZORDER, Layout


def look(
    session: SparkSession, table: str, layout: Layout, model: str, *, rewrites: bool = False
) -> tuple[TableFiles, Layout, pa.Table]:
    """The table as it is now, its layout with what it has of it, and its fragments.

    Args:
        rewrites: whether its files are to be written again, which those of some tables may not.

    Raises:
        LayoutError: the table cannot have this layout.
    """
    with refusals(model):
        files = TableFiles(session, table)
        if rewrites:
            files.check_rewritable()
        layout = with_time(layout, files.partition_by)
        files.check_sort_key(layout.sort_by)
        files.check_index(layout.index or ())
        sort_by, marks = files.key_columns(layout.sort_by)
        layout = replace(layout, sort_by=sort_by, marks=marks)
        first: str | None = layout.sort_by[0]
        if layout.curve == ZORDER:
            # Bounds of one column do not bound a place on the curve.
            layout, first = replace(layout, cuts=files.cuts(layout.sort_by)), None
        read = files.fragments(first, layout.bucket_column, layout.window, layout.sort_key)
        return files, layout, read
