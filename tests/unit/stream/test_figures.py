"""The line for the console."""

from __future__ import annotations

from alluvium.stream import Figures


def test_lines() -> None:
    done = Figures(rows=12_345, files=24, batch_id=7, seconds=1.94)
    assert done.line("ev") == "ev: 12,345 events from 24 files → batch 7 in 1.9 s"
    assert Figures(rows=5, batch_id=1, seconds=2).line("ev") == "ev: 5 events → batch 1 in 2.0 s"
    assert Figures(seconds=0.44).line("ev") == "ev: nothing new in 0.4 s"
    assert "3 events wait" in Figures(waiting=3).line("ev")
