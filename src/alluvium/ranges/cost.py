"""What a predicate of ranges costs a merge, and what it saves, in seconds."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from alluvium.ranges.fragments import Kept


@dataclass(frozen=True)
class CostModel:
    """Linear costs in seconds. How they were measured: docs/ranges.md.

    Attributes:
        byte: to read a byte of a data file (its size in the log, whatever columns are read).
        file: to open a data file.
        range: to plan a statement with one range more, and to look for its rows.
        range_file: for Delta's skipping to hold one file more against one range more.
        planning: to learn the values of a batch, which ranges have to save to be worth it.
    """

    byte: float
    file: float
    range: float
    range_file: float
    planning: float

    def reading(self, files: Any, size: Any) -> Any:
        """Seconds to read so many files of so many bytes (numbers, or arrays of them)."""
        return files * self.file + size * self.byte

    def one_range(self, files_total: int) -> float:
        """Seconds of one range on a table of so many files."""
        return self.range + files_total * self.range_file

    def price(self, kept: Kept, ranges: int) -> float:
        """Seconds of a merge with so many ranges that depend on the ranges."""
        held = ranges * self.one_range(kept.files_total)
        return held + float(self.reading(kept.files, kept.bytes))

    def weights(self, sizes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Seconds saved by leaving each file unread."""
        seconds: npt.NDArray[Any] = self.reading(1, sizes)
        return seconds


COST = CostModel(byte=1 / 100e6, file=0.002, range=0.002, range_file=1e-7, planning=0.3)
