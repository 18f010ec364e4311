"""The window of a microbatch, as SQL on the column that it goes by."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alluvium.names import bare, quoted

ACCEPTED = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True)
class Window:
    """From `start` up to `end`, which is outside, in UTC.

    column: as the table writes it.
    kind: its Spark type, one of ACCEPTED.
    """

    column: str
    kind: str
    start: dt.datetime
    end: dt.datetime

    @property
    def predicate(self) -> str:
        """SQL on the column alone, of comparisons that Delta can skip files by.

        A date is the instant at which it begins.
        """
        return f"{self._from(quoted(self.column))} and {self._before(quoted(self.column))}"

    @property
    def holds(self) -> str:
        """SQL, never NULL: whether a row of a batch is in the window once it is stored."""
        value = f"cast({quoted(self.column)} as {self.kind})"
        return f"coalesce({self._from(value)} and {self._before(value)}, false)"

    @property
    def text(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M:%S} up to {self.end:%Y-%m-%d %H:%M:%S} (UTC)"

    def guarded(self, batch: str, columns: Sequence[str] = ()) -> str:
        """A query of the rows of the relation `batch` that fails where one is outside.

        columns: all of them if empty.
        """
        names = ", ".join(map(quoted, columns)) or "*"
        said = f"a row of the batch is outside of its window, {self.text}"
        return f"select {names} from {batch}\nwhere if({self.holds}, true, raise_error('{said}'))"

    def outside(self, batch: str) -> str:
        """A query that counts the rows of `batch` outside, and those of them without a time."""
        name = quoted(self.column)
        return (
            f"select count(*) as rows, count_if({name} is null) as nulls from {batch}"
            f" where not {self.holds}"
        )

    def mistake(self, rows: int, nulls: int) -> str:
        """What is said of so many rows outside; `nulls` of them have no time."""
        without = f" ({nulls:,} of them NULL)" if nulls else ""
        have = "row of the batch has" if rows == 1 else "rows of the batch have"
        return (
            f"{rows:,} {have} {quoted(self.column)}{without} outside of its window,"
            f" {self.text}; nothing was written. Accepted: rows of the window alone. dbt filters"
            " inputs by it that have the config event_time; the rest is for the model's query"
        )

    def _from(self, value: str) -> str:
        return f"{value} >= {self._literal(self.start)}"

    def _before(self, value: str) -> str:
        return f"{value} < {self._literal(self.end)}"

    def _literal(self, instant: dt.datetime) -> str:
        if self.kind == "date":
            # The first date that does not begin before the instant.
            day = instant.date()
            begins = instant.time() == dt.time()
            return f"date'{day if begins else day + dt.timedelta(days=1)}'"
        text = instant.isoformat(" ", timespec="microseconds")
        return f"{self.kind}'{text}{'+00:00' if self.kind == 'timestamp' else ''}'"


def window(
    event_time: str, start: dt.datetime, end: dt.datetime, columns: Mapping[str, str]
) -> Window:
    """The window of a batch that dbt asks for.

    event_time: dbt's config of the model, a column's name, with or without backticks.
    start, end: instants; in UTC where they have no zone.
    columns: Spark types by name, of the table or of what it is made of.

    Raises:
        ValueError: no such column, or none of a type that is a time.
    """
    wanted = bare(event_time)
    found = [name for name in columns if name.lower() == wanted.lower()]
    if not found:
        raise ValueError(f"event_time: no column {wanted!r}; accepted: {', '.join(columns)}")
    kind = columns[found[0]]
    if kind not in ACCEPTED:
        raise ValueError(
            f"event_time: {wanted!r} is {kind}; accepted: {', '.join(ACCEPTED)}: cast it in the"
            " model, and build a table that has it so with --full-refresh"
        )
    return Window(found[0], kind, _utc(start), _utc(end))


def _utc(instant: dt.datetime) -> dt.datetime:
    return (instant.astimezone(dt.UTC) if instant.tzinfo else instant).replace(tzinfo=None)
