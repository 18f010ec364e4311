"""Deletion vectors, written by Delta's own writer."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.delta import internals as delta
from alluvium.delta.handles import DeltaSnapshot, DeltaTransaction, DeltaVector
from alluvium.engine import internals as spark
from alluvium.engine import jvm
from alluvium.engine.handles import JavaColumn


def bitmap_of(session: SparkSession, column: JavaColumn) -> JavaColumn:
    """Aggregate, a column of Scala's: how many row numbers, the largest one, and their bitmap."""
    expressions = jvm.internal(session, spark.EXPRESSION_UTILS)
    portable = jvm.internal(session, delta.BITMAP_FORMAT).Portable()
    bitmap = jvm.internal(session, delta.BITMAP_AGGREGATOR)(
        expressions.expression(column), portable
    )
    numbers: JavaColumn = expressions.column(bitmap.toAggregateExpression())
    return numbers


class VectorWriter:
    """Writes deletion vectors into one file of a table, merged with those that exist.

    transaction: on the table, or a snapshot of it.
    """

    def __init__(
        self, session: SparkSession, transaction: DeltaTransaction | DeltaSnapshot
    ) -> None:
        self.session = session
        self._transaction = transaction
        self._helper = jvm.internal(session, delta.VECTOR_WRITER)
        self._context: Any = None

    def write(
        self,
        file: str,
        before: DeltaVector | None,
        bitmap: bytes,
        rows: int,
        known: DeltaVector | None = None,
    ) -> DeltaVector:
        """The descriptor of `before` (a descriptor or None) and `bitmap` (of `rows` rows).

        known: a descriptor that is given back where it hides the same rows.
        """
        if known is not None and self._is_same(known, before, bitmap, rows):
            return known
        if self._context is None:
            self._open()
        option = jvm.of(self.session).scala.Option
        merged = option.empty() if before is None else option.apply(before.serializeToBase64())
        data = jvm.internal(self.session, delta.VECTOR_DATA)(file, merged, bitmap, rows)
        stored = self._helper.storeBitmapAndGenerateResult(self._context, data)
        vector: DeltaVector = stored.deletionVector()
        return vector

    def close(self) -> None:
        """Raises what the file system raises where the file could not be finished."""
        if self._context is not None:
            self._context.writer().close()

    def _is_same(
        self, known: DeltaVector, before: DeltaVector | None, bitmap: bytes, rows: int
    ) -> bool:
        """Whether `known` hides the rows of `before` and `bitmap`, and no others."""
        if known.cardinality() != rows + (0 if before is None else before.cardinality()):
            return False
        united = jvm.internal(self.session, delta.BITMAP_ARRAY).readFrom(bitmap)
        if before is not None:
            united.merge(self._load(before))
        try:
            return bool(united.equals(self._load(known)))
        except (Py4JJavaError, PySparkException):  # its file is gone or cut
            return False

    def _load(self, vector: DeltaVector) -> Any:
        bitmaps = jvm.internal(self.session, delta.STORED_BITMAP)
        path = self._transaction.deltaLog().dataPath()
        return bitmaps.create(vector, path).load(self._store())

    def _store(self) -> Any:
        stores = jvm.internal(self.session, delta.VECTOR_STORE)
        return stores.createInstance(self._transaction.deltaLog().newDeltaHadoopConf())

    def _open(self) -> None:
        log, metadata = self._transaction.deltaLog(), self._transaction.metadata()
        utilities = jvm.internal(self.session, delta.UTILS)
        store = self._store()
        prefix = utilities.getRandomPrefix(utilities.getRandomPrefixLength(metadata))
        pair = self._helper.createWriter(store, store.pathWithFileSystem(log.dataPath()), prefix)
        context = jvm.internal(self.session, delta.VECTOR_CONTEXT)
        self._context = context(store, pair._1(), log.dataPath(), pair._2(), prefix)
