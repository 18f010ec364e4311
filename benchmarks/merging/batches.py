"""Batches of events, drawn from a seed: no two are alike, and a seed gives the same one again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from merging.tables import Table, columns_of

ROWS = 20_000
NEW = ROWS // 20
Numbers = npt.NDArray[np.int64]
# Row numbers of a batch: those of a table's rows, and new ones behind them.
Draw = Callable[[np.random.Generator, int], Numbers]


@dataclass(frozen=True)
class Batch:
    """Events as a Delta table: a row's columns, `op` and `_batch_id`."""

    path: Path
    rows: int


def _some(rng: np.random.Generator, start: int, stop: int, count: int) -> Numbers:
    return start + rng.choice(stop - start, count, replace=False).astype(np.int64)


def _new(rows: int) -> Numbers:
    return rows + np.arange(NEW, dtype=np.int64)


def growth(rng: np.random.Generator, rows: int) -> Numbers:
    """90 % recent, 5 % in four old hot spots, 5 % new.

    The recent rows lie in the last file of 250,000 rows and the spots in three others, so four
    files hold a match however long the table is.
    """
    file = 250_000
    files = rows // file
    spots = [0, 100_000, files // 3 * file, files * 2 // 3 * file]
    parts = [_some(rng, spot + 50_000, spot + 55_000, ROWS // 80) for spot in spots]
    recent = ROWS - NEW - ROWS // 20
    return np.concatenate([*parts, _some(rng, rows - file + 1000, rows, recent), _new(rows)])


def recent(rng: np.random.Generator, rows: int) -> Numbers:
    """95 % of the newest tenth of the table, 5 % new."""
    return np.concatenate([_some(rng, rows * 9 // 10, rows, ROWS - NEW), _new(rows)])


def recent_and_old(rng: np.random.Generator, rows: int) -> Numbers:
    """85 % of the newest tenth, 10 % in two old spots, 5 % new."""
    spots = [
        _some(rng, rows * at // 100, rows * at // 100 + rows // 200, ROWS // 20) for at in (20, 50)
    ]
    newest = _some(rng, rows * 9 // 10, rows, ROWS - NEW - ROWS // 10)
    return np.concatenate([*spots, newest, _new(rows)])


def uniform(rng: np.random.Generator, rows: int) -> Numbers:
    """Anywhere."""
    return _some(rng, 0, rows, ROWS)


def outlier(rng: np.random.Generator, rows: int) -> Numbers:
    """The newest hundredth, and one row of the oldest."""
    return np.concatenate(
        [_some(rng, rows * 99 // 100, rows, ROWS - 1), _some(rng, 0, rows // 100, 1)]
    )


def empty(rng: np.random.Generator, rows: int) -> Numbers:
    """No event."""
    return np.empty(0, dtype=np.int64)


def write(
    session: SparkSession, path: Path, table: Table, draw: Draw, seed: int, op: str = "u"
) -> Batch:
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(draw(rng, table.rows))  # events come in no order
    frame = session.createDataFrame(pa.table({"n": numbers})).coalesce(1)
    frame.createOrReplaceTempView("numbers")
    columns = columns_of(seed + 1, table.random_id)
    session.sql(f"select {columns}, '{op}' as op, 0L as _batch_id from numbers").write.format(
        "delta"
    ).save(str(path))
    return Batch(path, len(numbers))


def floor(session: SparkSession, table: Table, batch: Batch, key: str) -> tuple[int, int]:
    """Files that hold a row of the batch, and their bytes: no merge can read fewer."""
    row = session.sql(
        "select count(*), sum(bytes) from ("
        "  select distinct _metadata.file_path, _metadata.file_size as bytes"
        f"  from delta.`{table.path}` where {key} in (select {key} from delta.`{batch.path}`))"
    ).first()
    assert row is not None
    return int(row[0]), int(row[1] or 0)
