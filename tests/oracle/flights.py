"""The merged table `flights` from landed files: DuckDB's MERGE INTO and, apart from it, pandas.

The rules are those of docs/feeds.md; nothing of the replayer or of the models is used.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import duckdb
import pandas as pd

KEY = ["flight_date", "carrier", "flight", "origin"]
ORDER = ["lsn", "ts_ms"]
# Column and DuckDB type, in the order of the merged table.
COLUMNS = {
    "flight_date": "date",
    "carrier": "varchar",
    "flight": "integer",
    "origin": "varchar",
    "dest": "varchar",
    "tailnum": "varchar",
    "distance": "integer",
    "sched_dep_at": "timestamp",
    "sched_arr_time": "integer",
    "dep_at": "timestamp",
    "arr_time": "integer",
    "dep_delay": "integer",
    "arr_delay": "integer",
    "air_time": "integer",
    "status": "varchar",
    "lsn": "bigint",
    "ts_ms": "bigint",
}
REASONS = [
    "invalid_json",
    "truncate",
    "unknown_op",
    "missing_order",
    "missing_image",
    "missing_field",
    "wrong_type",
    "invalid_date",
]
KEY_FIELDS = ["year", "month", "day", "carrier", "flight", "origin"]
KEY_INTEGERS = ["year", "month", "day", "flight"]
INTEGERS = [
    *KEY_INTEGERS,
    "distance",
    "sched_dep_time",
    "sched_arr_time",
    "dep_delay",
    "arr_time",
    "arr_delay",
    "air_time",
]

Delete = Literal["soft", "hard"]


@dataclass(frozen=True)
class Merged:
    """A merged table after a batch: `live` has `COLUMNS`, `tombstones` has the key and the order.

    Both are as `comparable` makes them. With hard deletes there are no tombstones.
    """

    live: pd.DataFrame
    tombstones: pd.DataFrame


class RejectedError(Exception):
    """A line that is no event; its one argument is a member of `REASONS`."""


def _whole(value: Any, bits: int) -> int | None:
    """A whole number in a signed range, written as a number or as digits; else None."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value):
        return None
    number = int(value)
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


def parse_line(line: str) -> dict[str, Any]:
    """One event as `op` and `COLUMNS`; a delete has its key and order only.

    Raises:
        RejectedError: with the first reason of docs/feeds.md that holds.
    """
    try:
        event = json.loads(line)
    except ValueError:
        raise RejectedError("invalid_json") from None
    if not isinstance(event, dict):
        raise RejectedError("invalid_json")
    op = event.get("op")
    if op == "t":
        raise RejectedError("truncate")
    if op not in ("c", "u", "d", "r"):
        raise RejectedError("unknown_op")
    source = event.get("source")
    lsn = _whole(source.get("lsn"), 64) if isinstance(source, dict) else None
    ts_ms = _whole(event.get("ts_ms"), 64)
    if lsn is None or ts_ms is None:
        raise RejectedError("missing_order")
    image = event.get("before" if op == "d" else "after")
    if not isinstance(image, dict):
        raise RejectedError("missing_image")
    needed = KEY_FIELDS if op == "d" else [*KEY_FIELDS, "sched_dep_time"]
    if any(image.get(field) is None for field in needed):
        raise RejectedError("missing_field")
    number: dict[str, Any] = {}
    for field in KEY_INTEGERS if op == "d" else INTEGERS:
        number[field] = _whole(image.get(field), 32)
        if number[field] is None and image.get(field) is not None:
            raise RejectedError("wrong_type")
    try:
        flight_date = date(number["year"], number["month"], number["day"])
    except ValueError:
        raise RejectedError("invalid_date") from None

    row = dict.fromkeys(["op", *COLUMNS])
    row |= {"op": op, "lsn": lsn, "ts_ms": ts_ms, "flight_date": flight_date}
    row |= {"carrier": image["carrier"], "flight": number["flight"], "origin": image["origin"]}
    if op == "d":
        return row
    hour, minute = divmod(number["sched_dep_time"], 100)
    if not (0 <= hour <= 23 and 0 <= minute <= 59):
        raise RejectedError("invalid_date")
    midnight = datetime(flight_date.year, flight_date.month, flight_date.day)
    row["sched_dep_at"] = midnight + timedelta(hours=hour, minutes=minute)
    if number["dep_delay"] is not None:
        row["dep_at"] = row["sched_dep_at"] + timedelta(minutes=number["dep_delay"])
    for field in ("dest", "tailnum", "status"):
        row[field] = image.get(field)
    for field in INTEGERS:
        if field in COLUMNS:
            row[field] = number[field]
    return row


def parse(files: Iterable[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All lines of some files: events (`op` and `COLUMNS`) and rejected lines.

    Both have `_file` (a path) and `_line` (from 0); rejected lines have `reason` and `value`.
    """
    events, rejected = [], []
    for file in files:
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
        for position, line in enumerate(text.removesuffix("\n").split("\n")):
            where = {"_file": str(file), "_line": position}
            try:
                events.append(where | parse_line(line))
            except RejectedError as error:
                rejected.append(where | {"reason": error.args[0], "value": line})
    return (
        pd.DataFrame(events, columns=["_file", "_line", "op", *COLUMNS], dtype=object),
        pd.DataFrame(rejected, columns=["_file", "_line", "reason", "value"]),
    )


def comparable(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of `COLUMNS` (or some of them) from any engine in one form: typed, sorted by the key.

    Takes what Spark's `toPandas`, DuckDB and Arrow give for dates, timestamps (without or in UTC)
    and nullable integers.
    """
    result = pd.DataFrame(index=range(len(frame)))
    for name, kind in COLUMNS.items():
        if name not in frame:
            continue
        values = frame[name].reset_index(drop=True)
        if kind in ("date", "timestamp"):
            utc = pd.to_datetime(values, utc=True)
            result[name] = utc.dt.tz_localize(None).astype("datetime64[us]")
        elif kind == "varchar":
            result[name] = values.astype(object).where(values.notna(), None)
        else:
            result[name] = values.astype("Int64")
    return result.sort_values(KEY, ignore_index=True)


def assert_same(expected: pd.DataFrame, actual: pd.DataFrame) -> None:
    """Fail unless two tables hold the same rows; columns outside of `expected` are not compared."""
    pd.testing.assert_frame_equal(comparable(expected), comparable(actual[list(expected.columns)]))


def _merged(table: pd.DataFrame, deleted: "pd.Series[bool]") -> Merged:
    return Merged(
        live=comparable(table.loc[~deleted, list(COLUMNS)]),
        tombstones=comparable(table.loc[deleted, [*KEY, *ORDER]]),
    )


NEWER = "(s.lsn > t.lsn or (s.lsn = t.lsn and s.ts_ms > t.ts_ms))"


def replay_duckdb(batches: Iterable[Sequence[Path]], delete: Delete = "soft") -> Iterator[Merged]:
    """The table after each batch of landed files, by one MERGE INTO for each batch."""
    names = ", ".join(COLUMNS)
    on = " and ".join(f"t.{name} = s.{name}" for name in KEY)
    update = ", ".join(f"{name} = s.{name}" for name in COLUMNS if name not in KEY)
    values = ", ".join(f"s.{name}" for name in COLUMNS)
    if delete == "soft":
        when_deleted = "then update set deleted = true, lsn = s.lsn, ts_ms = s.ts_ms"
        when_missing = "when not matched"
    else:
        when_deleted = "then delete"
        when_missing = "when not matched and s.op <> 'd'"
    with duckdb.connect() as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        connection.execute(f"create table flights ({columns}, deleted boolean)")
        connection.execute(f"create table batch (op varchar, {columns})")
        for files in batches:
            events, _ = parse(files)
            connection.execute("delete from batch")
            if len(events):
                connection.register("events", events.astype("string"))
                typed = ", ".join(f"cast({name} as {kind})" for name, kind in COLUMNS.items())
                connection.execute(f"insert into batch select op, {typed} from events")
                connection.unregister("events")
            connection.execute(
                f"""
                merge into flights as t
                using (
                    select * from batch
                    qualify row_number() over (
                        partition by {", ".join(KEY)} order by lsn desc, ts_ms desc
                    ) = 1
                ) as s
                on {on}
                when matched and {NEWER} and s.op = 'd' {when_deleted}
                when matched and {NEWER} then update set {update}, deleted = false
                {when_missing} then
                    insert ({names}, deleted) values ({values}, s.op = 'd')
                """
            )
            table = connection.execute("select * from flights").df()
            yield _merged(table, table["deleted"].astype(bool))


def replay_pandas(batches: Iterable[Sequence[Path]], delete: Delete = "soft") -> Iterator[Merged]:
    """The table after each batch of landed files, by sorting: the newest event of a key stays."""
    state = pd.DataFrame(columns=["op", *COLUMNS], dtype=object)
    for files in batches:
        events, _ = parse(files)
        state = pd.concat([state, events[["op", *COLUMNS]]])
        state = state.sort_values(ORDER, kind="stable").drop_duplicates(KEY, keep="last")
        if delete == "hard":
            state = state[state["op"] != "d"]
        yield _merged(state, state["op"] == "d")
