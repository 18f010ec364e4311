"""The Z-order of rows: by one number in which the bits of their columns' ranks take turns.

After Morton, A computer oriented geodetic data base (1966). A value's rank is its place among cuts
that are made once, from a sample, and kept in the table's log: docs/decisions/0009. Any cuts are
sound, since a larger value never has a lower rank; good ones divide the rows evenly.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# Columns of a Z-order: with each more a query on one of them keeps more files.
FEWEST, MOST = 2, 5
# Quantiles of a sample: a rank stands for about a 256th of the rows.
_QUANTILES = 255
# Cuts above the last quantile, for columns that grow as time does. Each is a _FINE'th farther from
# the first quantile than the one before: together they reach 2,800 times as far as the sample did.
_GROWTH, _FINE = 768, 96
# Of a rank, that is below _QUANTILES + _GROWTH + 1.
_BITS = 10
# Bytes of a text or binary that its cuts tell apart.
PREFIX = 64
# Measured so, values are numbers; any other kind is bytes.
NUMBERS = ("number", "date", "timestamp", "timestamp_ntz")

# A measured value: a float, or bytes.
Value = Any


def kind_of(spark_type: str) -> str:
    """How values of a sortable type (`sort_key.is_sortable`) are measured for their rank."""
    if spark_type in ("string", "binary"):
        return "bytes"
    return spark_type if spark_type in NUMBERS else "number"


@dataclass(frozen=True)
class Axis:
    """What ranks the values of one column.

    Attributes:
        column: its name.
        kind: how its values are measured: `kind_of`.
        quantiles: of the sample, rising, each with how many of its cuts were at or below it.
        low: cuts that are below all values: those of NULLs and of minus infinity.
    """

    column: str
    kind: str
    quantiles: tuple[tuple[Value, int], ...]
    low: int

    @staticmethod
    def of(column: str, kind: str, sample: Sequence[Value]) -> Axis:
        """The axis that divides a sample of the column's measured values evenly."""
        below = sum(value is None or value == -math.inf for value in sample)
        # Cuts at NaN and infinity would tell nothing apart; -0.0 and 0.0 are one value.
        finite = sorted(
            value if isinstance(value, bytes) else value + 0.0
            for value in sample
            if value is not None and (isinstance(value, bytes) or math.isfinite(value))
        )
        cuts: dict[Value, int] = {}
        low = 0
        for number in range(1, _QUANTILES + 1):
            # The last row of the lower part: a cut is above nothing but its own value and less.
            place = -(-number * len(sample) // (_QUANTILES + 1)) - 1
            if place < below:
                low = number
            elif place < below + len(finite):
                cuts[finite[place - below]] = number
        return Axis(column, kind, tuple(cuts.items()), low)

    @cached_property
    def cuts(self) -> list[Value]:
        """Rising values; a value's rank is `ranks` at the number of cuts below it."""
        cuts = [cut for cut, _ in self.quantiles]
        return [*cuts, *_growth(cuts)] if self.kind in NUMBERS else cuts

    @cached_property
    def ranks(self) -> list[int]:
        ranks = [self.low, *(rank for _, rank in self.quantiles)]
        last = ranks[-1]
        return ranks + [last + more for more in range(1, len(self.cuts) - len(ranks) + 2)]


def _growth(cuts: Sequence[Value]) -> Iterator[float]:
    """Cuts above the last one, ever farther apart. Only sums and products: equal everywhere."""
    if not cuts:
        return
    first, last = (float(cut) for cut in (cuts[0], cuts[-1]))
    # A sample of one value does not say how the column grows.
    span = last - first or abs(last) / 1024
    reach = 1.0
    cut = last
    for _ in range(_GROWTH):
        reach *= 1 + 1 / _FINE
        further = last + span * (reach - 1)
        if not cut < further < math.inf:
            return
        cut = further
        yield cut


@dataclass(frozen=True)
class Cuts:
    """The cuts of all columns of a Z-order: an axis for each, in their order."""

    axes: tuple[Axis, ...]

    @cached_property
    def name(self) -> str:
        """Tells apart cuts that differ."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]

    def fit(self, kinds: Sequence[tuple[str, str]]) -> bool:
        """Whether they are cuts for these columns, each with how it is measured."""
        return [(one.column, one.kind) for one in self.axes] == list(kinds)

    def places(self, number: int) -> list[int]:
        """What each rank of an axis adds to the place on the curve: its bits, spread."""
        axes = len(self.axes)
        return [
            sum((rank >> bit & 1) << (bit * axes + axes - 1 - number) for bit in range(_BITS))
            for rank in self.axes[number].ranks
        ]

    def text(self) -> str:
        """Compressed JSON: it is in every checkpoint and checksum of the table's log."""
        axes = [
            {
                "column": axis.column,
                "kind": axis.kind,
                "low": axis.low,
                "quantiles": [[_written(cut), rank] for cut, rank in axis.quantiles],
            }
            for axis in self.axes
        ]
        plain = json.dumps(axes, separators=(",", ":"))
        return base64.b64encode(zlib.compress(plain.encode(), 9)).decode()


def parse(text: str) -> Cuts | None:
    """What `Cuts.text` wrote; None for anything else."""
    try:
        found = json.loads(zlib.decompress(base64.b64decode(text)))
        axes = tuple(
            Axis(
                str(axis["column"]),
                str(axis["kind"]),
                tuple((_read(cut), int(rank)) for cut, rank in axis["quantiles"]),
                int(axis["low"]),
            )
            for axis in found
        )
        return Cuts(axes)
    except (KeyError, TypeError, ValueError, RecursionError, zlib.error):
        return None


def _written(cut: Value) -> float | str:
    return cut.hex() if isinstance(cut, bytes) else cut


def _read(cut: float | str) -> Value:
    return bytes.fromhex(cut) if isinstance(cut, str) else float(cut)
