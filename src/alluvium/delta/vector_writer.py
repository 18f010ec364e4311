"""Deletion vectors, written by Delta's own writer."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium.engine import jvm

_DELTA = "org.apache.spark.sql.delta."


def bitmap_of(session: SparkSession, column: Any) -> Any:
    """Aggregate, a column of Scala's: how many row numbers, the largest one, and their bitmap."""
    expressions = jvm.scala_object(session, "org.apache.spark.sql.classic.ExpressionUtils$")
    aggregation = jvm.of(session).org.apache.spark.sql.catalyst.expressions.aggregation
    bitmap = aggregation.BitmapAggregator(expressions.expression(column), _portable(session))
    return expressions.column(bitmap.toAggregateExpression())


def _portable(session: SparkSession) -> Any:
    formats = _DELTA + "deletionvectors.RoaringBitmapArrayFormat$"
    return jvm.scala_object(session, formats).Portable()


class VectorWriter:
    """Writes deletion vectors into one file of a table, merged with those that exist.

    transaction: on the table, or a snapshot of it.
    """

    def __init__(self, session: SparkSession, transaction: Any) -> None:
        self.session = session
        self._transaction = transaction
        self._helper = jvm.scala_object(session, _DELTA + "commands.DeletionVectorWriter$")
        self._context: Any = None

    def write(self, file: str, before: Any, bitmap: bytes, rows: int, known: Any = None) -> Any:
        """The descriptor of `before` (a descriptor or None) and `bitmap` (of `rows` rows).

        known: a descriptor that is given back where it hides the same rows.
        """
        if known is not None and self._is_same(known, before, bitmap, rows):
            return known
        if self._context is None:
            self._open()
        java = jvm.of(self.session)
        option = java.scala.Option
        merged = option.empty() if before is None else option.apply(before.serializeToBase64())
        data = java.org.apache.spark.sql.delta.commands.DeletionVectorData(
            file, merged, bitmap, rows
        )
        return self._helper.storeBitmapAndGenerateResult(self._context, data).deletionVector()

    def close(self) -> None:
        """Raises what the file system raises where the file could not be finished."""
        if self._context is not None:
            self._context.writer().close()

    def _is_same(self, known: Any, before: Any, bitmap: bytes, rows: int) -> bool:
        """Whether `known` hides the rows of `before` and `bitmap`, and no others."""
        if known.cardinality() != rows + (0 if before is None else before.cardinality()):
            return False
        delta = jvm.of(self.session).org.apache.spark.sql.delta
        united = delta.deletionvectors.RoaringBitmapArray.readFrom(bitmap)
        if before is not None:
            united.merge(self._load(before))
        try:
            return bool(united.equals(self._load(known)))
        except (Py4JJavaError, PySparkException):  # its file is gone or cut
            return False

    def _load(self, vector: Any) -> Any:
        bitmaps = jvm.scala_object(self.session, _DELTA + "deletionvectors.StoredBitmap$")
        path = self._transaction.deltaLog().dataPath()
        return bitmaps.create(vector, path).load(self._store())

    def _store(self) -> Any:
        stores = jvm.scala_object(self.session, _DELTA + "storage.dv.DeletionVectorStore$")
        return stores.createInstance(self._transaction.deltaLog().newDeltaHadoopConf())

    def _open(self) -> None:
        log, metadata = self._transaction.deltaLog(), self._transaction.metadata()
        utilities = jvm.scala_object(self.session, _DELTA + "util.Utils$")
        store = self._store()
        prefix = utilities.getRandomPrefix(utilities.getRandomPrefixLength(metadata))
        pair = self._helper.createWriter(store, store.pathWithFileSystem(log.dataPath()), prefix)
        commands = jvm.of(self.session).org.apache.spark.sql.delta.commands
        context = getattr(commands, "DeletionVectorWriter$DeletionVectorMapperContext")
        self._context = context(store, pair._1(), log.dataPath(), pair._2(), prefix)
