"""Landing folders: which files a feed has landed, and landing one more without ever editing one."""

import os
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path


class ReplayError(Exception):
    """A replay that cannot be done as asked; the message is one sentence for the user."""


@dataclass
class Landed:
    """What one replay landed; counts are of lines in the files written by it."""

    feed: str
    events: int = 0
    late: int = 0
    duplicated: int = 0
    malformed: int = 0
    files: int = 0
    unchanged_files: int = 0
    first: str = ""  # landing time of the first and the last line, UTC
    last: str = ""
    ended: bool = False  # nothing is left to land after this

    def land(self, path: Path, content: bytes, events: int) -> bool:
        """Land a file and count it; False where it was there already. Raises as `land` does."""
        if not land(path, content):
            self.unchanged_files += 1
            return False
        self.files += 1
        self.events += events
        return True

    def add_span(self, first: str, last: str) -> None:
        """Widen the time span by one file's first and last landing time (files come in order)."""
        self.first = self.first or first
        self.last = last

    def __str__(self) -> str:
        notes = f" (files already there: {self.unchanged_files:,})" * bool(self.unchanged_files)
        notes += "; the feed ends here" * self.ended
        if not self.files:
            return f"{self.feed}: nothing new to land{notes}"
        return (
            f"{self.feed}: {self.events:,} events landed ({self.late:,} of them late), "
            f"and {self.duplicated:,} duplicates and {self.malformed:,} malformed lines, "
            f"in {self.files:,} files from {self.first} to {self.last} UTC{notes}"
        )


def landed_files(folder: Path) -> list[Path]:
    """The `<day>/<time>.jsonl` files of a feed's landing folder, oldest first."""
    return sorted(folder.glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/[0-9]*.jsonl"))


def refuse_strangers(folder: Path, day: str, expected: set[str]) -> None:
    """Refuse a day that holds files which this replay would not make.

    Raises:
        ReplayError: the day was replayed with other options.
    """
    strangers = sorted(
        f.name for f in (folder / day).glob("[0-9]*.jsonl") if f.name not in expected
    )
    if strangers:
        raise ReplayError(
            f"{folder / day} holds {strangers[0]}, which this replay does not make; "
            "accepted: the options it was landed with, or another --landing folder"
        )


def days_to_land(
    feed: str, folder: Path, first: date, last: date, days: int, start: date | None
) -> tuple[list[date], bool]:
    """The days that a replay of a feed goes over, and whether the feed ends with them.

    Without `start` the feed continues after the last day that has landed. That day itself is gone
    over first, so an interrupted replay is completed. It ends where the feed ends.

    Args:
        feed: its name.
        folder: its landing folder.
        first, last: days of the feed.

    Raises:
        ReplayError: `start` is outside of the feed.
    """
    present = landed_files(folder)
    if start is not None:
        if not first <= start <= last:
            raise ReplayError(f"the {feed} feed has no day {start}; accepted: {first} to {last}")
    elif present:
        start = date.fromisoformat(present[-1].parent.name)
        days += 1
    else:
        start = first
    left = (last - start).days + 1
    return [start + timedelta(days=number) for number in range(min(days, left))], days >= left


def land(path: Path, content: bytes) -> bool:
    """Write a landing file in one step; True if it is new, False if it was there already.

    Raises:
        ReplayError: the file is there with other content (it is left as it is).
        OSError: the folder cannot be written.
    """
    if path.exists():
        if path.read_bytes() != content:
            raise ReplayError(
                f"{path} was landed with other content; accepted: the options it was landed "
                "with, or another --landing folder"
            )
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    # Readers of landing folders skip names that begin with a dot.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True
