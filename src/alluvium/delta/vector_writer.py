"""Deletion vectors, written by Delta's own writer."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from alluvium.engine import jvm

_DELTA = "org.apache.spark.sql.delta."


class VectorWriter:
    """Writes deletion vectors into one file of the table, merged with those that exist."""

    def __init__(self, session: SparkSession, transaction: Any) -> None:
        self.session = session
        self._transaction = transaction
        self._helper = jvm.scala_object(session, _DELTA + "commands.DeletionVectorWriter$")
        self._context: Any = None

    def write(self, file: str, before: Any, bitmap: bytes, rows: int) -> Any:
        """The descriptor of `before` (a descriptor or None) and `bitmap` (of `rows` rows)."""
        if self._context is None:
            self._open()
        java = jvm.of(self.session)
        option = java.scala.Option
        known = option.empty() if before is None else option.apply(before.serializeToBase64())
        data = java.org.apache.spark.sql.delta.commands.DeletionVectorData(
            file, known, bitmap, rows
        )
        return self._helper.storeBitmapAndGenerateResult(self._context, data).deletionVector()

    def close(self) -> None:
        """Raises what the file system raises where the file could not be finished."""
        if self._context is not None:
            self._context.writer().close()

    def _open(self) -> None:
        log, metadata = self._transaction.deltaLog(), self._transaction.metadata()
        stores = jvm.scala_object(self.session, _DELTA + "storage.dv.DeletionVectorStore$")
        utilities = jvm.scala_object(self.session, _DELTA + "util.Utils$")
        store = stores.createInstance(log.newDeltaHadoopConf())
        prefix = utilities.getRandomPrefix(utilities.getRandomPrefixLength(metadata))
        pair = self._helper.createWriter(store, store.pathWithFileSystem(log.dataPath()), prefix)
        commands = jvm.of(self.session).org.apache.spark.sql.delta.commands
        context = getattr(commands, "DeletionVectorWriter$DeletionVectorMapperContext")
        self._context = context(store, pair._1(), log.dataPath(), pair._2(), prefix)
