"""The feed `runways`: four days of a published table, as changes from publish to publish."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pandas as pd

from alluvium.demo.landing import Landed, days_to_land, refuse_strangers

# The publishes of 2025-01-30 to 2025-02-02, by the data's numbers.
FIRST, LAST = 1006, 1010
# Columns of an image, which is a line of CSV, and what makes a value of a text that is not empty.
COLUMNS: dict[str, Callable[[str], Any]] = {
    "id": int,
    "airport_ref": int,
    "airport_ident": str,
    "length_ft": int,
    "width_ft": int,
    "surface": str,
    "lighted": lambda text: text == "1",
    "closed": lambda text: text == "1",
    "le_ident": str,
    "le_latitude_deg": float,
    "le_longitude_deg": float,
    "le_elevation_ft": int,
    "le_heading_deg": float,
    "le_displaced_threshold_ft": int,
    "he_ident": str,
    "he_latitude_deg": float,
    "he_longitude_deg": float,
    "he_elevation_ft": int,
    "he_heading_deg": float,
    "he_displaced_threshold_ft": int,
}


@dataclass(frozen=True)
class Publish:
    """One published version of the table.

    Attributes:
        version: its number in the data.
        commit: of the publisher's repository.
        at: when it was published, UTC.
        changes: `op`, `id` and `after` of each; of the first, the whole table as `r`.
    """

    version: int
    commit: str
    at: datetime
    changes: pd.DataFrame

    @property
    def file(self) -> str:
        """Its landing file, by the minute of the publish."""
        return f"{self.at:%Y-%m-%d/%H%M}.jsonl"

    def content(self) -> bytes:
        """The lines to land, one event each, in the data's order."""
        head = {
            "ts_ms": int(self.at.timestamp() * 1000),
            "source": {"table": "runways", "version": self.version, "commit": self.commit},
        }
        lines = (
            {"op": op, **head, "before": before, "after": after}
            for op, before, after in self._images()
        )
        texts = (json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines)
        return "".join(f"{text}\n" for text in texts).encode()

    def _images(self) -> Iterator[tuple[str, dict[str, int] | None, dict[str, Any] | None]]:
        """Of each change the operation, and the row before and after it; a delete has its key."""
        rows = csv.reader(self.changes["after"].dropna())
        for op, key in zip(self.changes["op"], self.changes["id"].tolist(), strict=True):
            if op == "d":
                yield op, {"id": key}, None
            else:
                texts = zip(COLUMNS.items(), next(rows), strict=True)
                yield op, None, {name: of(text) if text else None for (name, of), text in texts}


def read_publishes() -> list[Publish]:
    """The publishes of the feed, oldest first."""
    with as_file(files("alluvium.demo") / "data" / "runways_cdc.parquet") as path:
        columns = ["version", "commit", "ts", "op", "id", "after"]
        data = pd.read_parquet(path, columns=columns, filters=[("version", "<=", LAST)])
    before = data[data["version"] <= FIRST].drop_duplicates("id", keep="last")
    whole = before[before["op"] != "d"].sort_values("id").assign(op="r")
    publishes = []
    for version in range(FIRST, LAST + 1):
        changes = data[data["version"] == version]
        made = changes.iloc[0]
        at = datetime.fromisoformat(made["ts"]).astimezone(UTC)
        publishes.append(
            Publish(version, made["commit"], at, whole if version == FIRST else changes)
        )
    return publishes


def replay_runways(landing: Path, days: int, start: date | None = None) -> Landed:
    """Land the publishes of `days` days in `<landing>/runways/YYYY-MM-DD/HHMM.jsonl`.

    Without `start` the feed continues after the last day that has landed. That day itself is gone
    over first, so an interrupted replay is completed. It ends where the feed ends.

    Raises:
        ReplayError: `start` is outside of the feed, or a file is there with other content.
        OSError: the landing folder cannot be written.
    """
    publishes = read_publishes()
    folder = landing / "runways"
    first, last = (publishes[place].at.date() for place in (0, -1))
    due, ended = days_to_land("runways", folder, first, last, days, start)
    result = Landed("runways", ended=ended)
    for day in due:
        of_day = [one for one in publishes if one.at.date() == day]
        refuse_strangers(folder, str(day), {Path(one.file).name for one in of_day})
        for publish in of_day:
            events = len(publish.changes)
            if result.land(folder / publish.file, publish.content(), events):
                clock = f"{publish.at:%Y-%m-%d %H:%M:%S}"
                result.add_span(clock, clock)
    return result
