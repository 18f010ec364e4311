"""What a run of a streaming table did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from alluvium.wording import counted, listed, newest


@dataclass(frozen=True)
class StreamFigures:
    """What one run did.

    Attributes:
        rows: Events appended.
        files: Files read (0 for sources without files).
        bytes: Their size as stored.
        output_files: Data files written.
        batch_id: Highest ``_batch_id`` this run committed; None where it committed nothing.
        seconds: Wall-clock time.
        waiting: Events left for a later run under ``min_rows``.
        min_rows: How many new events a run waits for.
        absent: The landing folder, where it does not exist.
        empty: Files of Parquet or ORC without a byte, which wait until they have content.
        newest: Time (UTC) of the newest event of the table's newest batch, by its
            ``_source_timestamp``; None where the log does not say.
        lag: Of Kafka: offsets that are not read, by place; None where nobody knows.
        transactions: Where open transactions begin, by place. What lies behind waits.
        lost: Offsets that were gone before they were read, by place.
        again: Topics that were made again and are read from their start, as places name them.
        warnings: What is wrong with the source though the run succeeds.
    """

    rows: int = 0
    files: int = 0
    bytes: int = 0
    output_files: int = 0
    batch_id: int | None = None
    seconds: float = 0.0
    waiting: int = 0
    min_rows: int = 1
    absent: str | None = None
    empty: tuple[str, ...] = ()
    newest: datetime | None = None
    lag: Mapping[str, int] | None = None
    transactions: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def line(self, model: str) -> str:
        """One sentence for the console."""
        told = f"{self._freshness()}{self._empty()}{self._topics()}"
        return f"{model}: {self._done()} in {self.seconds:.1f} s{told}"

    def _done(self) -> str:
        if self.waiting:
            return f"waiting for min_rows ({self.waiting:,} of {counted(self.min_rows, 'event')})"
        if self.absent is not None:
            return f"no such folder: {self.absent}"
        if self.batch_id is None:
            return "waiting for open transactions" if self.transactions else "up to date"
        files = f" from {counted(self.files, 'file')}" if self.files else ""
        return f"{counted(self.rows, 'event')}{files} → batch {self.batch_id}"

    def _freshness(self) -> str:
        return "" if self.newest is None else f", {newest(self.newest, 'arrival')}"

    def _empty(self) -> str:
        files = f"{counted(len(self.empty), 'file')} of 0 bytes"
        return f", waiting for {files} ({listed(self.empty, 3)})" if self.empty else ""

    def _topics(self) -> str:
        said = []
        if self.transactions:
            said.append(f"a transaction is open in {_by_place(self.transactions, ' at offset ')}")
        if lag := {place: offsets for place, offsets in (self.lag or {}).items() if offsets}:
            said.append(f"lag {sum(lag.values()):,} ({_by_place(lag)})")
        if self.lost:
            said.append(f"{sum(self.lost.values()):,} lost ({_by_place(self.lost)})")
        if self.again:
            said.append(
                f"{listed(self.again, 3)}: made again, read from the start; what was not read "
                "before is lost"
            )
        return "".join(f", {one}" for one in said)


def _by_place(figures: Mapping[str, int], between: str = " ") -> str:
    return listed([f"{place}{between}{figure:,}" for place, figure in figures.items()], 3)
