"""Footers of Parquet files, read through Hadoop: from whatever storage Spark reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type

from alluvium.engine import jvm, many_files
from alluvium.engine.handles import HadoopConf, HadoopPath

# Bytes of a file's end that are read at first; a footer that is longer takes a second look.
_TAIL = 2**16
# The length of the footer, and the magic number: the last bytes of a file.
_END = 8
_THREADS, _AHEAD = 8, 64
# Files whose footers the driver reads; those of more are for Spark's tasks.
_FEW = 1000
# What a footer tells.
FOOTER = pa.struct(
    [
        ("rows", pa.int64()),
        ("row_groups", pa.int64()),
        ("bytes_uncompressed", pa.int64()),
        ("compression", pa.string()),  # codecs, as in "snappy" or "snappy, zstd"
        (
            "columns",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),  # with those that it lies in, joined by dots
                        ("bytes", pa.int64()),
                        ("bytes_uncompressed", pa.int64()),
                    ]
                )
            ),
        ),
    ]
)
_READER = "alluvium.ParquetFooters"
# Files whose footers one task reads at least.
_TASK_FILES = 256


def read(
    java: Any, conf: HadoopConf, files: Iterable[tuple[Any, int]]
) -> Iterator[pq.FileMetaData]:
    """The footer of each file, in their order; each is opened once.

    Of wide tables one takes megabytes: a few are in memory at a time.

    Args:
        java: the gateway's view of the JVM.
        conf: Hadoop's configuration.
        files: Hadoop path and size in bytes of each.
    """

    def one(file: tuple[HadoopPath, int]) -> pq.FileMetaData:
        path, size = file
        stream = path.getFileSystem(conf).open(path)
        try:

            def last(count: int) -> bytes:
                stream.seek(max(0, size - count))
                return bytes(java.org.apache.commons.io.IOUtils.toByteArray(stream))

            tail = last(_TAIL)
            needed = int.from_bytes(tail[-_END:-4], "little") + _END
            return pq.read_metadata(pa.BufferReader(tail if needed <= _TAIL else last(needed)))
        finally:
            stream.close()

    left = iter(files)
    with ThreadPoolExecutor(_THREADS) as threads:
        while some := list(islice(left, _AHEAD)):
            yield from threads.map(one, some)


def rows_of(session: SparkSession, files: Sequence[tuple[str, int]]) -> dict[str, int | None]:
    """The rows of Parquet files by their URIs, as the footers say; None where there is no footer.

    Args:
        files: URI and size in bytes of each.
    """
    if len(files) <= _FEW:
        return many_files.parquet_rows(session, files)
    places, sizes = zip(*files, strict=True)
    table = pa.table({"location": places, "bytes": pa.array(sizes, pa.int64())})
    found = of_many(session, table)
    rows = pc.struct_field(found["footer"], "rows")
    return dict(zip(found["location"].to_pylist(), rows.to_pylist(), strict=True))


def of_many(session: SparkSession, files: pa.Table) -> pa.Table:
    """The footers of many files, read by Spark's tasks; each is opened once.

    Sizes of columns are sums over row groups.

    Args:
        files: `location`, a URI, and `bytes` of each.

    Returns:
        `location` and `footer`, a struct as FOOTER: NULL for a file that is gone, or that is not a
        whole Parquet file.
    """
    jvm.register_own(session, "__alluvium_footer", _READER, from_arrow_type(FOOTER))
    cores = session.sparkContext.defaultParallelism
    tasks = max(1, min(4 * cores, files.num_rows // _TASK_FILES))
    frame: DataFrame = session.createDataFrame(files).repartition(tasks)
    return frame.selectExpr("location", "__alluvium_footer(location, bytes) as footer").toArrow()
