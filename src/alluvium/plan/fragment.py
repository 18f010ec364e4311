"""What a data file is to a plan: a fragment of its table, with what the log says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags = npt.NDArray[np.bool_]

# What compaction asks of fragments: how each lies. A row each.
FRAGMENT_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("bucket", pa.string()),  # empty where the table is one bucket
        ("ends", pa.float64()),  # of the bucket's time, seconds since 1970; NULL for none
        ("bytes", pa.int64()),
        ("rows", pa.int64()),  # with the deleted ones; NULL where the log does not say
        ("deleted", pa.int64()),  # that a deletion vector hides
        ("written", pa.float64()),  # seconds since 1970
        ("tag", pa.string()),  # `Tag.text`, NULL for none
        # Sort keys that those of an untagged file lie between, NULL where that is not known.
        ("lo", pa.string()),
        ("hi", pa.string()),
    ]
)


@dataclass(frozen=True)
class Fragments:
    """What ranges ask of fragments: what the log's statistics say of one column.

    Attributes:
        lo, hi: bounds of the column's values, both inclusive; they may be wider than the values
            are. NULL where the log does not say: such a file may hold anything.
        sizes: bytes of each file.
        has_null: whether the file may hold rows without a value in the column.
        has_value: whether it may hold rows that have it.
        version: version of the table that these are the files of; None if nobody needs it.
        rows: of each file, with those that a deletion vector hides; NULL where the log does not
            say. None if nobody needs them.
        nulls: rows of each file without a value in the column, as `rows`; exact only if 0 or all.
    """

    lo: pa.Array
    hi: pa.Array
    sizes: npt.NDArray[np.int64]
    has_null: Flags
    has_value: Flags
    version: int | None = None
    rows: pa.Array | None = None
    nulls: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @staticmethod
    def read(files: pa.Table, version: int | None = None) -> Fragments:
        """From a table of the columns size, rows, lo, hi and nulls, with a row for each file."""
        rows, nulls = (files[name].combine_chunks() for name in ("rows", "nulls"))
        row_counts, null_counts = _numbers(rows, -1), _numbers(nulls, -1)
        return Fragments(
            lo=_bounds(files["lo"]),
            hi=_bounds(files["hi"]),
            sizes=_numbers(files["size"].combine_chunks(), 0),
            has_null=null_counts != 0,
            has_value=(null_counts < 0) | (null_counts != row_counts),
            version=version,
            rows=rows,
            nulls=nulls,
        )


def _bounds(values: pa.ChunkedArray) -> pa.Array:
    # Spark writes instants in the session's zone, which is not a part of their value.
    zoned = pa.types.is_timestamp(values.type) and values.type.tz is not None
    return (values.cast(pa.timestamp("us", tz="UTC")) if zoned else values).combine_chunks()


def _numbers(values: pa.Array, otherwise: int) -> npt.NDArray[np.int64]:
    filled = pc.fill_null(values.cast(pa.int64()), otherwise)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)
