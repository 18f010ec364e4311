"""What a predicate of ranges costs a merge, and what it saves, in seconds."""

from dataclasses import dataclass
from typing import Any

from alluvium.plan.ranges.locate import Kept


@dataclass(frozen=True)
class CostModel:
    """Seconds, in proportion to what is read and to the ranges. Measured as docs/ranges.md says.

    Attributes:
        byte: to read a byte of a data file (its size in the log, whatever columns are read).
        file: to open a data file.
        range: to plan a statement with one range more.
        range_file: for Delta's skipping to hold one file of the table against one range more.
        range_byte: to hold the rows in one byte that is read against one range more.
        planning: to learn the values of a batch, which ranges have to save to be worth it.
    """

    byte: float
    file: float
    range: float
    range_file: float
    range_byte: float
    planning: float

    def reading(self, files: Any, size: Any, ranges: int) -> Any:
        """Seconds to read so many files of so many bytes (numbers, or arrays of them)."""
        return files * self.file + size * (self.byte + ranges * self.range_byte)

    def predicate(self, ranges: int, files_total: int) -> float:
        """Seconds of so many ranges on a table of so many files, before anything is read."""
        return ranges * (self.range + files_total * self.range_file)

    def price(self, kept: Kept, ranges: int) -> float:
        """Seconds of a merge that depend on its ranges."""
        read = float(self.reading(kept.files, kept.bytes, ranges))
        return self.predicate(ranges, kept.files_total) + read


COST = CostModel(
    byte=1e-8, file=0.003, range=0.005, range_file=5e-8, range_byte=2e-10, planning=0.3
)
