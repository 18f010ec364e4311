"""Layouts: what a model asks for, what its table takes, compaction, and what tables hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt.adapters.base import available
from pyspark.errors import AnalysisException

from alluvium.delta.rewrite import bucket_column
from alluvium.names import quoted
from alluvium.plan.layout.errors import LayoutError, refusals
from dbt.adapters.alluvium import layouts, storage, suggestions, told
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Compacting(SessionAdapter):
    @available.parse_list
    def layout_mistakes(self, models: list[dict[str, Any]]) -> list[str]:
        """Every mistake in `meta.alluvium_layout` of the graph's models."""
        return layouts.mistakes(models)

    @available.parse_list
    def layout_suggestions(
        self, tables: list[dict[str, Any]], nodes: list[dict[str, Any]]
    ) -> list[str]:
        """Lines that say what the filters of compiled nodes ask of tables: `suggestions.lines`."""
        compiled = Path(self.config.project_target_path) / "compiled"
        with self._working() as session:
            return list(suggestions.lines(session, compiled, nodes, tables))

    @available.parse_none
    def check_bucket_column(
        self, table: str, model: str, block: Any, partition_by: str | list[str] | None
    ) -> None:
        """Raise where the table has no partition column to make its buckets by."""
        column = layouts.generated(layouts.declared(model, block), partition_by)
        if column is not None:
            with told.refusals(LayoutError), refusals(model):
                bucket_column.check_table(self._handle.session, table, column)

    @available.parse_none
    def check_layout(
        self,
        sql: str,
        model: str,
        block: Any,
        partition_by: str | list[str] | None,
        table: str | None = None,
        more_columns: bool = True,
    ) -> None:
        """Raise where the table that a query is written to cannot have the layout.

        table: the one that is there; None for a new one.
        more_columns: whether it gets those of the query that it does not have.
        """
        layout = layouts.declared(model, block)
        if layout is None:
            return
        try:
            rows = self._handle.table(f"(\n{self._last_statement(sql)}\n)").schema
        except AnalysisException:
            return  # what is wrong with it is told by what runs it
        fields = rows.fields if more_columns else []
        with self._working() as session:
            layouts.check(session, model, layout, fields, partition_by, table)

    @available.parse(lambda sql, *a, **k: sql)
    def with_bucket_column(
        self, sql: str, model: str, block: Any, partition_by: str | list[str] | None
    ) -> str:
        """The query with what its buckets are made by: a table created from it generates that."""
        column = layouts.generated(layouts.declared(model, block), partition_by)
        if column is None:
            return sql
        with spark_errors():
            rows = self._handle.table(f"(\n{self._last_statement(sql)}\n)")
            view = quoted(f"__alluvium_bucketed_{model}")
            with told.refusals(LayoutError), refusals(model):
                rows = bucket_column.with_column(rows, column)
            rows.createOrReplaceTempView(view)
        return f"select * from {view}"

    @available.parse_none
    def batch_query(
        self,
        batch: str,
        table: str,
        model: str,
        block: Any,
        partition_by: str | list[str] | None,
        in_order: bool,
        replaces: bool,
    ) -> str | None:
        """A query of the relation `batch` as its table takes it; None where it is so already.

        dbt's statements write every column of a table. So the batch gets those that Delta computes,
        whether the model's layout still asks for them or not.

        in_order: whether its rows are to have the layout's order.
        replaces: whether it takes the place of all rows where the model has no partitions.
        """
        layout = layouts.layout_of(model, block, partition_by)
        with self._working(model) as session:
            computed = bucket_column.left_out(
                session,
                table,
                lambda: self._handle.table(batch),
                replaces=replaces and not partition_by,
            )
        return layouts.batch_query(batch, computed, layout, partition_by, in_order)

    @available.parse(lambda *a, **k: ([], ""))
    def compact(
        self, table: str, model: str, block: Any, dry_run: bool = False, is_hook: bool = False
    ) -> tuple[list[str], str]:
        """Compact a table by `meta.alluvium_layout`: lines that say what was done, or in a dry run
        would be, and what failed. Nothing is raised for that: other tables are to be compacted."""
        with self._working() as session:
            return layouts.compact(session, table, model, block, dry_run, is_hook)

    @available.parse(lambda *a, **k: "")
    def index_files(self, table: str, model: str, block: Any, dry_run: bool = False) -> str:
        """Give the files of a table that have no index one; the line that says so.

        Raises:
            DbtRuntimeError: the table cannot have these indexes.
        """
        with self._working() as session:
            return layouts.index(session, table, model, block, dry_run)

    @available.parse(lambda *a, **k: "")
    def storage(self, kind: str, tables: list[dict[str, Any]], who: str) -> str:
        """The name of a view of what the tables' logs say; `storage.view` describes it."""
        with self._working() as session:
            return storage.view(session, kind, tables, who)
