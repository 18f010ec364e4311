"""The line for the console."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from alluvium.ingest import StreamFigures


def test_lines() -> None:
    done = StreamFigures(rows=12_345, files=24, batch_id=7, seconds=1.94)
    assert done.line("ev") == "ev: 12,345 events from 24 files → batch 7 in 1.9 s"
    assert (
        StreamFigures(rows=5, batch_id=1, seconds=2).line("ev") == "ev: 5 events → batch 1 in 2.0 s"
    )
    assert StreamFigures(seconds=0.44).line("ev") == "ev: up to date in 0.4 s"
    held = StreamFigures(waiting=3, min_rows=1000, seconds=1).line("ev")
    assert held == "ev: waiting for min_rows (3 of 1,000 events) in 1.0 s"
    empty = StreamFigures(seconds=1, empty=("a.orc", "b.orc", "c.orc", "d.orc")).line("ev")
    assert empty == (
        "ev: up to date in 1.0 s, waiting for 4 files of 0 bytes (a.orc, b.orc, c.orc and 1 more)"
    )
    assert StreamFigures(absent="/x", seconds=1).line("ev") == "ev: no such folder: /x in 1.0 s"
    fresh = StreamFigures(seconds=1, newest=datetime.now(UTC) - timedelta(hours=3.5)).line("ev")
    assert fresh.startswith("ev: up to date in 1.0 s, newest arrival 20")
    assert fresh.endswith(" UTC (3 hours ago)")


def test_what_a_line_says_of_topics() -> None:
    lag = {"a-0": 3, "a-1": 0, "b#2-0": 1_200}
    held = StreamFigures(seconds=1, lag=lag, transactions={"a-0": 12})
    assert held.line("ev") == (
        "ev: waiting for open transactions in 1.0 s, a transaction is open in a-0 at offset 12, "
        "lag 1,203 (a-0 3, b#2-0 1,200)"
    )
    done = StreamFigures(rows=5, batch_id=1, seconds=1, lag={"a-0": 0}, lost={"a-0": 24})
    assert done.line("ev") == "ev: 5 events → batch 1 in 1.0 s, 24 lost (a-0 24)"
    again = StreamFigures(seconds=1, again=("a#2", "b#3")).line("ev")
    assert "s, a#2, b#3: made again, read from the start; what" in again
