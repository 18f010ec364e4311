"""A MERGE statement as Delta resolved it, and the parts of Delta's command to run it from.

Delta's analyser turns the text into conditions and expressions with every cast, default and
generated column in place; its transaction knows what was read. Both are used as they are: only the
order of the steps between them is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from alluvium.delta import internals as delta
from alluvium.delta.files.vector_writer import VectorWriter, bitmap_of
from alluvium.delta.handles import DeltaFile, DeltaMergeCommand
from alluvium.delta.merge import matching_files
from alluvium.delta.merge.refusal import Facts
from alluvium.delta.rewrite.order import sorted_in_tasks
from alluvium.engine import internals as spark
from alluvium.engine import jvm
from alluvium.engine.handles import JavaColumn, JavaExpression, JavaFrame, JavaPlan, JavaSeq
from alluvium.names import quoted
from alluvium.plan.ranges.locate import Kept

# Delta's own names: its output expressions ask for both.
_SOURCE_ROW = "_source_row_present_"
_TARGET_ROW = "_target_row_present_"
_DROPPED = "_row_dropped_"
_FILE = "__alluvium_file"
_ROW = "__alluvium_row"
_MATCHED = "__alluvium_matched_clause"
_UNMATCHED = "__alluvium_unmatched_clause"
# Bytes of rows in Spark that one task takes over in a shuffle, at most. So many fit in its memory,
# and make a file worth having.
_TASK = 256 * 2**20


class MergeCommand:
    """One MERGE in a transaction of its own.

    settings: Spark settings of its own session, which is `copy`.
    sort_by: columns that each new file is sorted by.

    Raises AnalysisException (pyspark.errors) as MERGE does.
    """

    _command: DeltaMergeCommand

    def __init__(
        self,
        session: SparkSession,
        sql: str,
        settings: Mapping[str, str],
        sort_by: Sequence[str] = (),
    ) -> None:
        self.copy = copy = jvm.SessionCopy(session)
        self._spark, self._functions, self._seq = copy.spark, copy.functions, copy.seq
        self._internal, self._none, self._sort_by = copy.internal, copy.none, sort_by
        self._expressions = self._internal(spark.EXPRESSION_UTILS)
        for key, value in settings.items():
            copy.set(key, value)
        with copy.active():
            parsed = self._spark.sessionState().sqlParser().parsePlan(sql)
            # Not executed, but optimised as a command is before it runs: Delta skips no file by
            # a BETWEEN, which the optimiser turns into two comparisons.
            mode = self._internal(spark.COMMAND_EXECUTION_MODE).SKIP()
            self._command = self._spark.sessionState().executePlan(parsed, mode).optimizedPlan()
            self.is_merge = self._command.getClass().getSimpleName() == "MergeIntoCommand"
            if self.is_merge:
                self._transaction = self._command.targetDeltaLog().startTransaction(
                    self._command.catalogTable(), self._none
                )
                self.metrics = self._command.metrics()
                self._matched = jvm.items(self._command.matchedClauses())
                self._unmatched = jvm.items(self._command.notMatchedClauses())
                self.inserts_only = bool(self._command.isInsertOnly())
        self._kept: list[Any] = []

    @contextmanager
    def in_transaction(self) -> Iterator[None]:
        """Reads of the target by the source go through this thread's transaction, as in MERGE."""
        transactions = self._internal(delta.OPTIMISTIC_TRANSACTION)
        transactions.setActive(self._transaction)
        try:
            yield
        finally:
            transactions.clearActive()

    def facts(self) -> Facts:
        """What decides whether the one-commit merge does this statement."""
        if not self.is_merge:
            return Facts(other_command=True)
        command, transaction = self._command, self._transaction
        metadata, protocol = transaction.metadata(), transaction.protocol()
        index = command.targetFileIndex()
        patterns = self._internal(spark.TREE_PATTERN)
        parts = [command.condition(), *self._matched, *self._unmatched]
        collects = self._spark.conf().get("spark.databricks.delta.stats.collect", "true")
        return Facts(
            by_source=not command.notMatchedBySourceClauses().isEmpty(),
            widens_schema=command.canMergeSchema(),
            no_vectors=not self.inserts_only
            and not command.shouldWritePersistentDeletionVectors(self._spark, transaction),
            change_feed=command.isCdcEnabled(transaction),
            row_tracking=self._internal(delta.ROW_TRACKING).isSupported(protocol),
            identity=not self._internal(delta.IDENTITY_COLUMN)
            .getIdentityColumns(metadata.schema())
            .isEmpty(),
            uniform=metadata.configuration().contains("delta.universalFormat.enabledFormats"),
            redefined=not (metadata.equals(index.metadata()) and protocol.equals(index.protocol())),
            no_statistics=collects != "true",
            subquery=any(part.containsPattern(patterns.PLAN_EXPRESSION()) for part in parts),
            python_function=any(part.containsPattern(patterns.PYTHON_UDF()) for part in parts),
            nondeterministic=not all(part.deterministic() for part in parts),
        )

    @property
    def version(self) -> int:
        """Of the table, as this transaction reads it."""
        return int(self._transaction.snapshot().version())

    def recorded(self, app: str) -> int:
        """The number of an application's `txn` as this transaction reads it; -1 for none."""
        return max(int(self._transaction.txnVersion(app)), -1)

    def was_executed(self) -> bool:
        """Whether the progress in the settings is recorded in the table already."""
        return bool(self._command.hasBeenExecuted(self._transaction, self._spark, self._none))

    def candidates(self) -> JavaSeq:
        """The files that may hold a match, registered as what this transaction has read."""
        predicates = self._command.getTargetOnlyPredicates(self._spark)
        return self._transaction.filterFiles(predicates, True)

    def with_keys(
        self, candidates: JavaSeq, source: JavaFrame | None = None, small: bool = False
    ) -> JavaSeq:
        """The candidates whose tags do not say that no row of the source matches in them.

        source: its rows; where they are not given they are computed.
        """
        rows = self._frame(self._command.source()) if source is None else source
        scanned = self._transaction.metadata().schema()
        return matching_files.left(self.copy, self._command, scanned, candidates, rows, small)

    def materialise_source(self) -> tuple[JavaFrame, int]:
        """The rows of the source, each with a number, computed once; and their bytes in Spark.

        Never computed again: numbers given twice to rows in another order would join the wrong
        ones. Where a block is lost the merge fails.
        """
        command = self._command
        used = self._attributes(self._seq([command.condition(), *self._matched, *self._unmatched]))
        columns = command.source().outputSet().intersect(used).toSeq()
        counted = command.incrementMetricAndReturnBool("numSourceRows", True)
        frame = (
            self._frame(self._internal(spark.PROJECT)(columns, command.source()))
            .filter(self._column(counted))
            .withColumn(_SOURCE_ROW, self._functions.monotonically_increasing_id())
        )
        return self._checkpoint(frame)

    def plan_for(self, volume: int, small: bool) -> None:
        """Plan what follows for so many bytes of rows in Spark.

        For few rows an adaptive plan costs more than it can win. For many it is the session's, with
        more shuffle partitions where those that it has would be too large for a task.
        """
        given = self.copy.session.conf
        adaptive = str(given.get("spark.sql.adaptive.enabled"))
        shuffles = int(str(given.get("spark.sql.shuffle.partitions")))
        if small:
            cores = self.copy.session.sparkContext.defaultParallelism
            adaptive, shuffles = "false", min(shuffles, max(cores, 1))
        else:
            shuffles = max(shuffles, math.ceil(volume / _TASK))
        self.copy.set("spark.sql.adaptive.enabled", adaptive)
        self.copy.set("spark.sql.shuffle.partitions", str(shuffles))

    def materialise_matches(
        self, source: JavaFrame, candidates: JavaSeq, small: bool
    ) -> tuple[JavaFrame, int]:
        """Every pair of rows that meets ON: source row, place of the target row, the clause that
        applies (NULL for none). With it the target's columns that an update asks for. Then their
        bytes in Spark."""
        command, functions = self._command, self._functions
        target = self._frame(self._reading(candidates))
        columns = [functions.col(_SOURCE_ROW).alias(_TARGET_ROW)]
        if not self.inserts_only:
            place = target.metadataColumn("_metadata")
            target = target.withColumn(_FILE, place.getField("file_path")).withColumn(
                _ROW, place.getField("row_index")
            )
            clause = self._first_true(self._matched)
            columns += [functions.col(_FILE), functions.col(_ROW), clause.alias(_MATCHED)]
            used = self._attributes(self._seq(self._updates().values()))
            read = command.target().outputSet().intersect(used).toSeq()
            columns += [self._column(attribute) for attribute in jvm.items(read)]
        batch = functions.broadcast(source) if small else source
        pairs = target.join(batch, self._column(command.condition()), "inner")
        return self._checkpoint(pairs.select(self._seq(columns)))

    def kept(self, candidates: JavaSeq, left: JavaSeq) -> Kept:
        """The figures of the files that are looked at, `left` of the candidates."""
        snapshot, plan = self._transaction.snapshot(), self._reading(left)
        return Kept(
            files=left.size(),
            files_total=int(snapshot.numOfFiles()),
            bytes=int(plan.collectLeaves().head().relation().location().sizeInBytes()),
            bytes_total=int(snapshot.sizeInBytes()),
            skipped=candidates.size() - left.size(),
        )

    def _reading(self, files: JavaSeq) -> JavaPlan:
        """The plan that reads some of the target's files."""
        return self._command.buildTargetPlanWithFiles(
            self._spark, self._transaction, files, self._seq([])
        )

    def rows_by_file(self, matches: JavaFrame, small: bool) -> list[Any]:
        """One JVM row a file: path, pairs, matched rows, updated rows, and the rows that change
        as (number, largest index, serialised bitmap)."""
        functions = self._functions
        clause, row = functions.col(_MATCHED), functions.col(_ROW)
        updates = [functions.lit(number) for number in self._updates()]
        updated = functions.when(clause.isin(self._seq(updates)), functions.lit(1))
        frame = matches.coalesce(1) if small else matches  # in one task rows need no shuffle
        return list(
            frame.groupBy(self._seq([functions.col(_FILE)]))
            .agg(
                functions.count(functions.lit(1)),
                self._seq(
                    [
                        bitmap_of(self.copy.session, row).getField("cardinality"),
                        functions.count(updated),
                        bitmap_of(self.copy.session, functions.when(clause.isNotNull(), row)),
                    ]
                ),
            )
            .collect()
        )

    def check_ambiguous(self, ambiguous: bool) -> None:
        """Raise what MERGE raises where several source rows match one target row."""
        self._command.throwErrorOnMultipleMatches(ambiguous, self._spark)

    def writes_rows(self) -> bool:
        """Whether any clause writes rows; a statement that only deletes does not."""
        return bool(self._unmatched or self._updates())

    def write(self, source: JavaFrame, matches: JavaFrame, small: bool) -> list[Any]:
        """New files with the updated and the inserted rows, as AddFile actions."""
        functions = self._functions
        found = functions.broadcast(matches) if small else matches
        number = functions.col(_SOURCE_ROW).equalTo(functions.col(_TARGET_ROW))
        if self.inserts_only:
            # Nothing is known of a match but that it is one.
            joined = source.join(found, number, "left_anti")
            joined = joined.withColumn(_TARGET_ROW, functions.lit(None).cast("bigint"))
            joined = joined.withColumn(_MATCHED, functions.lit(None).cast("int"))
        else:
            joined = source.join(found, number, "left_outer")
        unmatched = functions.col(_TARGET_ROW).isNull()
        inserts = (
            functions.when(unmatched, self._first_true(self._unmatched))
            if self._unmatched
            else functions.lit(None).cast("int")
        )
        updates = self._updates()
        applies = functions.col(_UNMATCHED).isNotNull()
        for place in updates:
            applies = getattr(applies, "or")(self._is(_MATCHED, place))
        rows = joined.withColumn(_UNMATCHED, inserts).filter(applies)
        clauses = [
            *(self._when(clause, _MATCHED, place) for place, clause in updates.items()),
            *(self._when(clause, _UNMATCHED, n) for n, clause in enumerate(self._unmatched)),
        ]
        old = self._command.postEvolutionTargetExpressions(True)
        names = [*self._transaction.metadata().schema().fieldNames(), _DROPPED]
        output = self._command.generateWriteAllChangesOutputCols(
            old, self._none, self._none, self._seq(names), self._seq([]), False,
            self._seq(clauses), False, False, True,
        )  # fmt: skip
        kept = functions.col(_DROPPED).equalTo(functions.lit(False))
        frame = rows.select(output).filter(kept).drop(_DROPPED)
        frame = frame.coalesce(1) if small else frame
        if not self._sort_by:
            return jvm.items(self._command.writeFiles(self._spark, self._transaction, frame))
        # MERGE's own writer would move rows to the tasks of their partitions, and out of order.
        partition = list(self._transaction.metadata().partitionSchema().fieldNames())
        if partition:
            frame = frame.repartition(self._seq(functions.col(quoted(name)) for name in partition))
        ordered = sorted_in_tasks(DataFrame(frame, self.copy.session), partition, self._sort_by)
        written = self._transaction.writeFiles(ordered._jdf, self._none, False, self._seq([]))
        return jvm.items(written)

    def files_opened(self) -> int:
        """How many files `write` has opened, those without rows too."""
        found = self._transaction.getMetric("numFiles")
        return int(found.get().value()) if found.isDefined() else 0

    def files_with_statistics(self, paths: Iterable[str]) -> list[Any]:
        """AddFile actions of the snapshot; those that `candidates` gives have no statistics."""
        chosen = self._functions.col("path").isin(self._seq(paths))
        return list(self._transaction.snapshot().allFiles().filter(chosen).collect())

    def vector_writer(self) -> VectorWriter:
        return VectorWriter(self.copy.session, self._transaction)

    def touched(self, file: str, candidates: Any) -> DeltaFile:
        """The AddFile among `candidates` that is read as `file`."""
        place = self._transaction.deltaLog().dataPath()
        return self._command.getTouchedFile(place, file, candidates)

    def by_absolute_path(self, candidates: Any) -> Any:
        path = self._transaction.deltaLog().dataPath()
        return self._command.generateCandidateFileMap(path, candidates)

    def commit(self, actions: Iterable[Any], figures: Mapping[str, int]) -> int | None:
        """Commit as the MERGE that it is; the new version, None where nothing had to be recorded.

        Raises Delta's concurrency exceptions (delta.exceptions) where MERGE does.
        """
        command, transaction = self._command, self._transaction
        for name, value in figures.items():
            self.metrics.apply(name).set(value)
        transaction.registerSQLMetrics(self._spark, self.metrics)
        progress = command.createSetTransaction(self._spark, transaction.deltaLog(), self._none)
        first = [progress.get()] if progress.isDefined() else []
        final = self._seq([*first, *actions])
        predicate = self._internal(delta.MERGE_PREDICATE)
        operation = self._internal(delta.MERGE).apply(
            self.copy.jvm.scala.Option.apply(command.condition()),
            self._seq(predicate.apply(clause) for clause in self._matched),
            self._seq(predicate.apply(clause) for clause in self._unmatched),
            self._seq([]),
        )
        records = self._internal(delta.RECORD_COUNTS).fromActions(final)
        command.validateNumRecords(final, records, operation, transaction.deltaLog())
        no_tags = getattr(transaction, "commitIfNeeded$default$3")()
        version = transaction.commitIfNeeded(final, operation, no_tags)
        self._spark.sharedState().cacheManager().recacheByPlan(self._spark, command.target())
        return int(version.get()) if version.isDefined() else None

    def close(self) -> None:
        """Let go of the rows that were kept in Spark."""
        for rows in self._kept:
            rows.unpersist(False)
        self._kept.clear()

    def _frame(self, plan: JavaPlan) -> JavaFrame:
        frame: JavaFrame = self._internal(delta.DATA_FRAMES).ofRows(self._spark, plan)
        return frame

    def _attributes(self, expressions: JavaSeq) -> Any:
        return self._internal(spark.ATTRIBUTE_SET).apply(expressions)

    def _column(self, expression: JavaExpression) -> JavaColumn:
        column: JavaColumn = self._expressions.column(expression)
        return column

    def _checkpoint(self, frame: JavaFrame) -> tuple[JavaFrame, int]:
        level = self._internal(spark.STORAGE_LEVEL).MEMORY_AND_DISK()
        rows = frame.localCheckpoint(True, level)
        kept = rows.queryExecution().analyzed().rdd()
        self._kept.append(kept)
        context = self.copy.session.sparkContext._jsc.sc()
        stored = [info for info in context.getRDDStorageInfo() if info.id() == kept.id()]
        return rows, sum(info.memSize() + info.diskSize() for info in stored)

    def _updates(self) -> dict[int, Any]:
        """The matched clauses that write a row, by their place."""
        return {
            place: clause
            for place, clause in enumerate(self._matched)
            if clause.getClass().getSimpleName() == "DeltaMergeIntoMatchedUpdateClause"
        }

    def _first_true(self, clauses: list[Any]) -> JavaColumn:
        """The place of the first clause whose condition is true; NULL for none."""
        functions = self._functions
        chosen: JavaColumn | None = None
        for place, clause in enumerate(clauses):
            condition = clause.condition()
            holds = self._column(condition.get()) if condition.isDefined() else functions.lit(True)
            chosen = (chosen or functions).when(holds, functions.lit(place))
        assert chosen is not None, "a statement with a clause"
        return chosen

    def _is(self, column: str, place: int) -> JavaColumn:
        return self._functions.col(column).equalTo(self._functions.lit(place))

    def _when(self, clause: Any, column: str, place: int) -> Any:
        """The clause with a look at `column` for its condition, which was computed before."""
        holds = self._expressions.expression(self._is(column, place))
        return clause.copy(self.copy.jvm.scala.Option.apply(holds), clause.actions())
