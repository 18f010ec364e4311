"""The distinct texts of a column as arrays of code points, sorted."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

# Characters of a text that are looked at, and of all texts together.
_LENGTHS = (1024, 256, 64, 16)
_MOST_CODES = 1 << 25


@dataclass(frozen=True)
class Texts:
    """Sorted distinct texts.

    Attributes:
        values: the texts.
        codes: the code points of all texts, one after another, each up to `limit`.
        starts: where each text begins in `codes`, and the end.
        lengths: characters of each text in full.
        limit: characters of a text that are in `codes`.
    """

    values: pa.Array
    codes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    limit: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_cut(self) -> bool:
        """Whether any text is longer than what is looked at."""
        return bool(len(self)) and int(self.lengths.max()) > self.limit


def make_texts(values: pa.Array) -> Texts:
    """The distinct texts of an array without NULLs, in the order of their code points."""
    distinct = pc.unique(values)
    distinct = distinct.take(pc.array_sort_indices(distinct))
    lengths = pc.utf8_length(distinct).to_numpy().astype(np.int64)
    for limit in _LENGTHS:
        if np.minimum(lengths, limit).sum() <= _MOST_CODES:
            break
    shown = distinct
    if len(distinct) and lengths.max() > limit:
        shown = pc.utf8_slice_codeunits(distinct, 0, limit)
    text = "".join(shown.to_pylist())
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, limit))]).astype(np.int64)
    return Texts(distinct, codes, starts, lengths, limit)


def as_array(values: pa.Array | pa.ChunkedArray | Iterable[object]) -> pa.Array:
    """Any column as one Arrow array, with plain strings for any kind of string.

    Raises:
        pa.ArrowInvalid: a value is not of the others' type, or not text that UTF-8 can write.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.array(list(values))
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        # Offsets of 64 bits: texts of a column may be more than 2 GiB together.
        return array.cast(pa.large_string())
    return array
