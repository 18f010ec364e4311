"""Merges: one call of the materialization looks, plans, merges, and says what it did."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from dbt.adapters.base import available
from dbt.adapters.events.types import SQLQuery
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.exceptions import CompilationError
from pyspark.sql import DataFrame, SparkSession

from alluvium import marks
from alluvium.delta.log import committing, log, own_commit
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.delta.merge import batch, staged
from alluvium.delta.rewrite import bucket_column
from alluvium.merge import execute, one_commit, progress
from alluvium.merge.conflicts import retry
from alluvium.plan.graph import bronze_of
from alluvium.plan.merge.batch import verify_mistake
from alluvium.plan.merge.figures import Merged, MergeFigures, merge_line
from alluvium.plan.versions import left_out
from dbt.adapters.alluvium import freshness, layouts, nested
from dbt.adapters.alluvium.column import columns
from dbt.adapters.alluvium.figures import MergeResponse, of_statement, written
from dbt.adapters.alluvium.handle import mistakes
from dbt.adapters.alluvium.merges import MergePlan, Planner, StoredTable
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.checking import Checking
from dbt.adapters.alluvium.verbs.progressing import Progressing


class Merging(Checking, Progressing):
    @available.parse_none
    def merge(
        self,
        target: AlluviumRelation,
        source: AlluviumRelation,
        node: dict[str, Any],
        predicates: str | Sequence[str] | None = None,
        is_new: bool = False,
        on_schema_change: str | None = None,
    ) -> dict[str, Any]:
        """Merge a staged batch by `meta.alluvium_merge`, planned again where others were faster.

        Gives the statement as `sql`, dbt's `response`, and the console's `line`.

        Args:
            target: The table.
            source: The batch, a relation of this session.
            node: The model, as Jinja has it.
            predicates: The model's own conditions on the statement.
            is_new: Whether the table was made for this batch.
            on_schema_change: What becomes of fields inside columns; None leaves them as they are.

        Raises:
            CompilationError: The settings do not fit the batch, or the batch not the table.
            DbtDatabaseError: Of Spark; of other writers that were faster too often.
        """
        started = time.monotonic()
        table = target.render()
        with self._working() as session:
            with mistakes(node["name"]):
                bucket_column.check_zone(session, table)
            if not source.include_policy.schema:
                # A temporary view keeps its query analysed: its text would be at each look.
                self._handle.unread(source.render()).createOrReplaceTempView(str(source.identifier))
            if on_schema_change is not None and not is_new:
                source = self.with_fields(source, table, on_schema_change)
            try:
                plan, merged = self._merged(target, source, node, predicates, is_new)
            finally:
                self._handle.release(source.render())
            if merged is None:
                self._pass_over(session, table, node["unique_id"])
        if merged is not None and (merged.files is None or not merged.affected):
            files, size = written(session, table) if merged.affected else (None, None)
            merged = replace(merged, files=files, bytes=size)
        done = MergeFigures(
            plan.figures,
            merged,
            time.monotonic() - started,
            plan.texts.rejected_table if plan.figures.rejected else None,
            self._freshness(table, node["unique_id"], plan.figures.newest_event),
        )
        return {
            "sql": "-- nothing new" if merged is None else plan.texts.statement,
            "response": MergeResponse.of(done),
            "line": merge_line(plan.name, done),
        }

    def _merged(
        self,
        target: AlluviumRelation,
        source: AlluviumRelation,
        node: Mapping[str, Any],
        predicates: str | Sequence[str] | None,
        is_new: bool,
    ) -> tuple[MergePlan, Merged | None]:
        """The last plan, and what came of it; None where the first had nothing to merge."""
        table, batch_name = target.render(), source.render()

        def planner(batch: AlluviumRelation) -> Planner:
            return Planner(self, target, batch, node, predicates, is_new)

        config = node["config"]
        block = (config.get("meta") or {}).get(layouts.META)
        layout = layouts.layout_of(node["unique_id"], block, config.get("partition_by"))
        engine = (config["meta"]["alluvium_merge"] or {}).get("engine") or "auto"
        merged_table = execute.DeltaTable(
            self.session, table, node["unique_id"], engine, layout.sort_by if layout else ()
        )
        plans: list[MergePlan] = []

        def statement() -> execute.Statement | None:
            # The batch may be computed from the table that another writer has changed since.
            self._handle.release(batch_name)
            kept: list[int | None] = []
            plan = planner(source).plan(lambda: kept.append(self._handle.keep(batch_name, table)))
            at = kept[0] if kept else None
            if plan.former is not None:
                self._take_over(self.session, table, plan.former, node["unique_id"])
            if plan.outline.added:
                self.rows(f"alter table {table} add columns ({plan.outline.added})")
            verify = plan.outline.settings.verify if plan.pending and plan.texts.verify else False
            if verify:
                # The merge begins at the version that is looked at, or is planned again.
                at = merged_table.version() if at is None else at
            if verify == "reject":
                plan = self._without_changed(plan, source, planner)
            plans.append(plan)
            if plan.texts.rejected:
                self._keep_rejected(plan.texts.rejected, target, plan.texts.rejected_table)
            if not plan.pending:
                return None
            if verify is True:
                self._verify(plan, node)
            self._log(plan.texts.statement)
            return execute.Statement(
                plan.texts.statement,
                plan.figures.metadata(),
                plan.figures.through,
                plan.texts.prune,
                at,
                plan.table_id,
                after=plan.profile.after,
                automata=plan.outline.settings.prunes,
                beside=self._read_from(node["unique_id"], plan.numbers),
            )

        merged = execute.run(merged_table, statement)
        return plans[-1], merged

    def _verify(self, plan: MergePlan, node: Mapping[str, Any]) -> None:
        assert plan.texts.verify is not None
        missed, example = self.rows(plan.texts.verify)[0]
        mistake = verify_mistake(plan.outline.settings, int(missed), example)
        if mistake:
            raise CompilationError(f"{node['name']}: {mistake}")

    def _without_changed(
        self,
        plan: MergePlan,
        source: AlluviumRelation,
        planner: Callable[[AlluviumRelation], Planner],
    ) -> MergePlan:
        """A plan that rejects the events of keys whose rows the merge would not see.

        Without them the ranges may be others, and leave out other rows.
        """
        marked = source.incorporate(path={"identifier": "__alluvium_marked"})
        marked = marked.include(database=False, schema=False)
        sql = str(plan.texts.marked)
        keys: list[pa.Table] = []
        while plan.pending and plan.texts.verify is not None:
            keys.append(self._handle.table(f"({plan.texts.verify})").toArrow())
            if not keys[-1].num_rows:
                break
            found = self.session.createDataFrame(pa.concat_tables(keys))
            found.createOrReplaceTempView("__alluvium_changed")
            self.session.sql(sql).createOrReplaceTempView(str(marked.identifier))
            plan = planner(marked).plan()
        return plan

    def _keep_rejected(
        self, statements: Sequence[str], target: AlluviumRelation, table: str
    ) -> None:
        """Run before the merge: what a killed run had kept is found again."""
        self.rows(statements[0])
        # The tests of this command look there, too.
        self.cache_added(target.incorporate(path={"identifier": table}))
        for sql in statements[1:]:
            self.run_with_retries(table, sql, "merge")

    @available.parse_none
    def with_fields(
        self, source: AlluviumRelation, table: str, on_schema_change: str, inserts: bool = False
    ) -> AlluviumRelation:
        """The batch with the table's fields inside columns; `source` itself where it has them."""
        with self._working() as session:
            rows = self._handle.table(source.render())
            fitted = nested.fit(session, rows, table, on_schema_change, inserts=inserts)
        if fitted is None:
            return source
        view = source.incorporate(path={"identifier": f"{source.identifier}_fields"})
        view = view.include(database=False, schema=False)
        fitted.createOrReplaceTempView(str(view.identifier))
        return view

    @available.parse_none
    def explain_merge(
        self,
        relation: AlluviumRelation,
        source: AlluviumRelation,
        node: dict[str, Any],
        predicates: str | Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """What the next merge would do; changes nothing.

        Gives `pending`, the batch's `profile`, `settings`, `method` and `ranges`, the `predicate`.
        `kept` are the files that it leaves as Delta's own skipping finds them. `engine` is what
        will run the merge, and why it is not the one-commit merge where that was not asked for.
        """
        with self._working() as session:
            plan = Planner(self, relation, source, node, predicates, False).plan()
            table, texts, settings = relation.render(), plan.texts, plan.outline.settings
            kept = log.skipping(session, table, texts.prune) if plan.pending else None
            engine = "merge_into"
            if plan.outline.added and settings.engine != engine:
                engine = "known when the merge has added the column _deleted"
            elif plan.pending and settings.engine != engine:
                found = one_commit.looked_at(session, texts.statement, settings.prunes)
                if isinstance(found, one_commit.Refusal):
                    engine = f"merge_into, for {found.reason}"
                else:
                    engine, kept = "one_commit", found
        return {
            "pending": plan.pending,
            "profile": plan.profile,
            "settings": settings,
            "method": plan.figures.method,
            "ranges": texts.ranges,
            "predicate": texts.predicate,
            "kept": kept,
            "engine": engine,
        }

    # What a plan asks ----------------------------------------------------------------------

    @property
    def session(self) -> SparkSession:
        return self._handle.session

    def texts(self, macro: str, **arguments: Any) -> dict[str, Any]:
        """What a macro of the package gives that only writes SQL. `model` is the macro there, and
        `this` and `config` are not known: whatever it needs is an argument."""
        return dict(self.execute_macro(macro, project="alluvium", kwargs=arguments))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement as dbt runs its own: logged, and where Ctrl-C reaches it."""
        commented = self.connections._add_query_comment(sql)
        _, cursor = self.connections.add_query(commented, auto_begin=False)
        return cursor.fetchall()  # type: ignore[no-any-return]

    def kept(self, source: str) -> DataFrame:
        """The rows of a batch."""
        return self._handle.table(source)

    def is_small(self, source: str) -> bool:
        return batch.is_small(self._handle.table(source))

    def is_merged(self, source: str, progress: int) -> bool:
        """Whether no event of a batch is newer, as far as that shows without reading them."""
        rows, bound = self._handle.unread(source), "_batch_through"
        return bound in rows.columns and staged.has_none_above(rows, bound, progress)

    def look_at(self, table: str) -> StoredTable:
        """What a merge asks of its table, of one version."""
        now = TableSnapshot.of(self.session, table)
        known = now.metadata
        texts = known.noted(log.BOUNDED_TEXT)
        return StoredTable(
            id=known.id,
            numbers=now.numbers[1],
            columns=columns(known.schema.fields, keeps_bounds=False),
            partitions=known.partitions,
            made=known.made,
            padded=[f"{name} {kind}" for name, kind in texts.items() if kind.startswith("char")],
            limits={
                name.lower(): int(kind[8:-1])
                for name, kind in texts.items()
                if kind.startswith("varchar")
            },
        )

    def _freshness(self, table: str, model_id: str, newest_event: str | None) -> dict[str, Any]:
        """How far a merged model has come beside the streaming table that it is merged from.

        Empty where that is not one table, or its log does not say.
        """
        bronze = bronze_of(self.node_of(model_id), self.node_of)
        if bronze is None:
            return {}
        through = progress.read(self.session, table, model_id)
        events = left_out.left_out(log.state(self.session, table)[1], model_id)
        return freshness.figures(
            self.session,
            self.table_of(bronze),
            bronze.name,
            through,
            newest_event,
            left_out.batches(events),
        )

    def _log(self, sql: str) -> None:
        """Leave a statement in dbt's log that does not run as dbt's own do."""
        name = str(self.connections.get_thread_connection().name)
        fire_event(SQLQuery(conn_name=name, sql=sql, node_info=get_node_info()))

    @available.parse_none
    def run_with_retries(self, table: str, sql: str, what: str, is_purge: bool = False) -> int:
        """Run a statement that may be repeated, again where other writers of `table` were faster.

        Returns the rows that it changed.

        Args:
            what: The statement's name, for messages.
            is_purge: Whether what it deletes must not come back with a restore, as its commit says.
        """
        self._log(sql)
        with self._working() as session:
            if is_purge:
                note = json.dumps({marks.PURGE_NOTE: {}})
                session.conf.set(committing.COMMIT_METADATA, note)
            begun = own_commit.begin(session)
            try:
                run = partial(session.sql, sql)
                done, _ = retry(table, run, lambda: None, execute.RETRIES, what)
                of_statement(session, sql, done, 0, begun)
                return int(done.collect()[0]["num_affected_rows"])
            finally:
                if is_purge:
                    session.conf.unset(committing.COMMIT_METADATA)

    # What macros ask -----------------------------------------------------------------------

    @available.parse(lambda *a, **k: {})
    def made_columns(self, table: str) -> dict[str, bool]:
        """Columns that a Delta table fills itself, and whether no batch may bring them."""
        return log.metadata(self.session, table).made

    @available.parse_list
    def partition_columns(self, table: str) -> list[str]:
        return log.metadata(self.session, table).partitions

    @available.parse_none
    def give_types(self, source: str, table: str) -> None:
        """Give what has no type in a table that of a batch: see `nested.give_types`."""
        with self._working() as session:
            nested.give_types(session, self._handle.table(source), table)

    @available.parse_none
    def sync_fields(self, source: str, table: str, on_schema_change: str) -> None:
        """Give a table the fields inside columns that a batch brings: see `nested.sync`."""
        with self._working() as session:
            nested.sync(session, self._handle.table(source), table, on_schema_change)
