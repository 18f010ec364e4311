"""Deletion vectors that hide the rows of a table that are marked `_deleted`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from alluvium.delta.files.vector_writer import VectorWriter, bitmap_of
from alluvium.delta.handles import DeltaSnapshot, DeltaTransaction
from alluvium.delta.internals import BATCH_INDEX, BITMAP_GENERATOR, VECTOR_HELPER
from alluvium.delta.log.states import TOMBSTONE
from alluvium.engine import jvm


def hidden(
    copy: jvm.SessionCopy,
    source: DeltaSnapshot,
    transaction: DeltaTransaction,
    files: Sequence[Any],
    shown: Mapping[str, Any],
) -> Iterator[tuple[str, Any]]:
    """Of the files that hold tombstones, the path and the vector that hides these rows too.

    Of a file that then has no row to show, None for the vector.

    Args:
        source: the snapshot that the files are of.
        transaction: of the table that shows them: vectors lie beside it.
        files: AddFile actions with absolute paths and row counts.
        shown: by path, vectors that it has now: one that hides the same rows stays.
    """
    helper = copy.internal(VECTOR_HELPER)
    place = source.deltaLog().dataPath()
    known = helper.generateCandidateFileMap(place, copy.seq(files))
    vectors = VectorWriter(copy.session, transaction)
    try:
        for row in _rows(copy, helper, source, files):
            file, bitmap = helper.getTouchedFile(place, row.getString(0), known), row.getStruct(1)
            before, more = file.deletionVector(), bitmap.getLong(0)
            gone = more + (0 if before is None else before.cardinality())
            if gone == file.numPhysicalRecords().get():
                yield file.path(), None
            else:
                now = shown.get(file.path())
                vector = vectors.write(row.getString(0), before, bitmap.get(2), more, now)
                yield file.path(), vector
    finally:
        vectors.close()


def _rows(copy: jvm.SessionCopy, helper: Any, source: DeltaSnapshot, files: Sequence[Any]) -> Any:
    """One JVM row a file with tombstones: its path, and their row numbers as a bitmap."""
    seq, source_log = copy.seq(files), source.deltaLog()
    index = copy.internal(BATCH_INDEX)(
        copy.spark, "publish", seq, source_log, source_log.dataPath(), source, False
    )
    plan = source_log.createDataFrame(source, seq, False, copy.none)
    scanned = helper.createTargetDfForScanningForMatches(
        copy.spark, plan.queryExecution().analyzed(), index
    )
    condition = (
        copy.spark.sessionState().sqlParser().parseExpression(f"coalesce(`{TOMBSTONE}`, false)")
    )
    generator = copy.internal(BITMAP_GENERATOR)
    with copy.active():
        # No vector is joined to the rows: `VectorWriter` has those of the files.
        found = generator.buildRowIndexSetsForFilesMatchingCondition(
            copy.spark, source_log.dataPath().toString(), False, scanned, seq, condition,
            copy.none, copy.none,
        )  # fmt: skip
        by_file = found.groupBy("filePath", copy.seq([]))
        numbers = bitmap_of(copy.session, copy.functions.col("rowIndexCol"))
        return by_file.agg(numbers, copy.seq([])).collect()
