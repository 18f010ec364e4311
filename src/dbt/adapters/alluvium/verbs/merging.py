"""Merges: what one asks of its table and its batch, its ranges, its run and its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse
from pyspark.sql import DataFrame, SparkSession

from alluvium.delta import log
from alluvium.merge import batch, one_commit, progress, ranges
from alluvium.merge import execute as merge
from alluvium.merge.conflicts import retry
from alluvium.plan.ranges import UnfitError
from dbt.adapters.alluvium import freshness, layouts, nested, told
from dbt.adapters.alluvium.column import columns
from dbt.adapters.alluvium.figures import MergeResponse, written
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.verbs.base import SessionAdapter

T = TypeVar("T")


class Merging(SessionAdapter):
    @available.parse_none
    def merge_progress(self, table: str, model_id: str) -> int | None:
        return progress.read(self._handle.session, table, model_id)

    @available.parse(lambda *a, **k: {})
    def freshness(
        self, table: str, model_id: str, newest_event: str | None = None
    ) -> dict[str, Any]:
        """How far a merged model has come beside the streaming table that it is merged from.

        Empty where that is not one table, or its log does not say.
        """
        bronze = freshness.bronze_of(self.node_of(model_id), self.node_of)
        if bronze is None:
            return {}
        relation = self.Relation.create_from(self.config, bronze)
        through = progress.read(self._handle.session, table, model_id)
        return freshness.figures(
            self._handle.session, relation.render(), bronze.name, through, newest_event
        )

    @available.parse(lambda *a, **k: {})
    def made_columns(self, table: str) -> dict[str, bool]:
        """Columns that a Delta table fills itself, and whether no batch may bring them."""
        return log.metadata(self._handle.session, table).made

    @available.parse_list
    def partition_columns(self, table: str) -> list[str]:
        return log.metadata(self._handle.session, table).partitions

    @available.parse_none
    def stored_table(self, table: str) -> dict[str, Any]:
        """What a merge asks of its table, of one version: the macro `stored_table` says what."""
        with spark_errors():
            known = log.metadata(self._handle.session, table)
        texts = known.noted(log.BOUNDED_TEXT)
        return {
            "id": known.id,
            "columns": columns(known.schema.fields, keeps_bounds=False),
            "partitions": known.partitions,
            "made": known.made,
            "padded": [f"{name} {kind}" for name, kind in texts.items() if kind.startswith("char")],
            "limits": {
                name.lower(): int(kind[8:-1])
                for name, kind in texts.items()
                if kind.startswith("varchar")
            },
        }

    @available.parse_none
    def copy_progress(self, source: str, target: str) -> int:
        return progress.copy(self._handle.session, source, target)

    @available.parse_none
    def files_kept(self, table: str, predicate: str | None) -> dict[str, int]:
        return log.skipping(self._handle.session, table, predicate).figures()

    @available.parse_none
    def sync_fields(self, source: str, table: str, on_schema_change: str) -> None:
        """Give a table the fields inside columns that a batch brings: see `nested.sync`."""
        with spark_errors():
            rows = self._handle.table(source)
            nested.sync(self._handle.session, rows, table, on_schema_change)

    @available.parse_none
    def fit_fields(self, source: str, view: str, table: str, on_schema_change: str) -> bool:
        """Register the batch with the table's fields as `view`; false where it has them."""
        with spark_errors():
            rows = self._handle.table(source)
            fitted = nested.fit(self._handle.session, rows, table, on_schema_change)
            if fitted is not None:
                fitted.createOrReplaceTempView(view)
            return fitted is not None

    @available.parse_none
    def keep_batch(self, source: str, table: str) -> None:
        """Keep the rows of a staged batch, which is read several times, until `release_batch`.

        table: that it will be merged into. A batch that reads it is computed from one version.
        """
        with spark_errors():
            self._handle.keep(source, table)

    @available.parse_none
    def release_batch(self, source: str) -> None:
        with spark_errors():
            self._handle.release(source)

    @available.parse_none
    def hold_version(self, table: str) -> None:
        """Let the merge of this node find the version that `table` has now, or plan anew."""
        if self._handle.merge_at is None:
            self._handle.merge_at = log.version(self._handle.session, table)

    @available.parse(lambda *a, **k: False)
    def is_small(self, source: str) -> bool:
        with spark_errors():
            return batch.is_small(self._handle.table(source))

    @available.parse_list
    def plan_ranges(self, source: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Range rows of the batch `source`, a relation of this session."""
        return self._planned(ranges.plan_batch, source, request, [])

    @available.parse_list
    def reprice_ranges(
        self, rows: list[dict[str, Any]], request: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Range rows, planned anew where the table has moved on since."""
        with spark_errors():
            return ranges.reprice(self._handle.session, rows, request)

    @available.parse_none
    def plan_predicate(self, source: str, request: dict[str, Any]) -> dict[str, Any]:
        """The cheapest predicate on several columns for the batch `source`."""
        nothing = {"sql": "true", "ranges": 0, "method": "none"}
        return self._planned(ranges.plan_columns, source, request, nothing)

    def _planned(
        self,
        plan: Callable[[SparkSession, Callable[[], DataFrame], dict[str, Any]], T],
        source: str,
        request: dict[str, Any],
        nothing: T,
    ) -> T:
        """What `plan` finds for the batch `source`, or `nothing` where it cannot have ranges."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the planning
        session = self._handle.session
        with spark_errors():
            try:
                return plan(session, lambda: self._handle.table(source), request)
            except UnfitError as error:
                told.warn(f"{error}. The merge goes on without ranges.")
                return nothing

    @available.parse_none
    def run_merge(
        self,
        table: str,
        model_id: str,
        attempt: dict[str, Any],
        plan: Callable[..., dict[str, Any]],
        arguments: list[Any],
    ) -> dict[str, Any]:
        """Run a merge, planned anew by the macro `plan` for every try after the first.

        Returns the figures of the try that was committed, with its `sql`, the rows it changed
        (`affected`) and, where there are any, the files and bytes written.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the merge
        session = self._handle.session
        planned = True

        def statement() -> merge.Statement | None:
            nonlocal planned
            if not planned:
                # The batch may be computed from the table that another writer has changed.
                source = arguments[1].render()
                self.release_batch(source)
                self.keep_batch(source, table)
                attempt.update(plan(*arguments))
            planned = False
            if not attempt["pending"]:
                return None
            return merge.Statement(
                attempt["sql"], attempt["figures"], attempt["prune"], self._handle.merge_at
            )

        layout = layouts.layout_of(model_id, attempt["layout"], attempt["partition_by"])
        with spark_errors():
            outcome = merge.run(
                session,
                table,
                statement,
                model_id,
                attempt["through"],
                table_id=attempt["table_id"],
                engine=attempt["engine"],
                sort_by=layout.sort_by if layout else (),
            )
        affected = outcome.affected
        wrote: dict[str, Any] = {"files_written": outcome.files, "bytes_written": outcome.bytes}
        if affected and outcome.files is None:
            wrote = written(session, table)
        return {
            **attempt["figures"],
            "sql": attempt["sql"],
            "affected": affected,
            "engine": outcome.engine,
            "refused": outcome.refused,
            "conflicts": outcome.conflicts,
            "already_merged": outcome.already_merged,
            **(outcome.kept.figures() if outcome.kept else {}),
            **(wrote if affected else {}),
        }

    @available.parse_none
    def merge_refused(self, sql: str) -> str | None:
        """Why the one-commit merge would leave this MERGE to MERGE INTO; None where it runs it."""
        with spark_errors():
            return one_commit.refused(self._handle.session, sql)

    @available.parse_none
    def run_again(self, table: str, sql: str, what: str) -> None:
        """Run a statement that may be repeated, again where other writers of `table` were faster.

        what: the statement's name, for messages.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the statement
        session = self._handle.session
        with spark_errors():
            retry(table, lambda: session.sql(sql).collect(), lambda: None, merge.RETRIES, what)

    @available.parse_none
    def merge_response(self, figures: dict[str, Any]) -> AdapterResponse:
        return MergeResponse.of(figures)
