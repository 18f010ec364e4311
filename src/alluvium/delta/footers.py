"""Footers of Parquet files, read through Hadoop: from whatever storage Spark reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Bytes of a file's end that are read at first; a footer that is longer takes a second look.
_TAIL = 2**16
# The length of the footer, and the magic number: the last bytes of a file.
_END = 8
_THREADS, _AHEAD = 8, 64


def read(java: Any, conf: Any, files: Iterable[tuple[Any, int]]) -> Iterator[pq.FileMetaData]:
    """The footer of each file, in their order; each is opened once.

    Of wide tables one takes megabytes: a few are in memory at a time.

    Args:
        java: the gateway's view of the JVM.
        conf: Hadoop's configuration.
        files: Hadoop path and size in bytes of each.
    """

    def one(file: tuple[Any, int]) -> pq.FileMetaData:
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
