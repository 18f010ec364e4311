"""`alluvium run`: rounds with new events, failures that come and go, and ends."""

from __future__ import annotations

import signal
import socket
import time
import urllib.request
from pathlib import Path

import pytest
from functional.rounds.day import FEED, FINE, Day, make
from functional.runner import add_jars
from prometheus_client.parser import text_string_to_metric_families

pytestmark = [pytest.mark.spark, pytest.mark.slow]
BROKEN = FINE.replace("1 as id", "cast('one' as int) as id")
TWICE = FINE.replace("1 as id", "explode(array(1, 1)) as id")
SEVEN = FINE.replace("1 as id", "7 as id")


def failed(day: Day) -> set[str]:
    """The names of the nodes that failed."""
    return {one.split(".")[2] for its in day.health().values() for one in its["failed"]}


def rounds(day: Day) -> int:
    """How often the selection that had the fewest rounds ended one."""
    return min((its["rounds"] for its in day.health().values()), default=0)


def failures(day: Day) -> int:
    return sum(its["failures"] for its in day.health().values())


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_day(tmp_path: Path) -> None:
    day = make(tmp_path / "day", add_jars(tmp_path / "home"))
    day.land("1,a,1", "2,b,2")
    port = free_port()
    selections = ["--select", FEED, "--every", "3s", "--selector", "rest", "--every", "2s"]
    metrics = ["--metrics-port", str(port), "--metrics-file", "m.prom"]
    with day.running(*selections, *metrics, "--", "--log-format", "json") as process:
        day.until(lambda: rounds(day) > 1, process)
        day.until(day.is_all_there, process)
        day.land("2,c,3", "3,d,4")
        day.until(day.is_all_there, process)

        # What fails leaves the others alone, but for what is below it: `below` of a model that
        # fails, `tested` of one whose test does.
        day.write({"models/fragile.sql": BROKEN, "models/beside.sql": TWICE})
        day.until(lambda: failed(day) == {"fragile", "unique_beside_id"}, process)
        names = ("below", "tested", "beside")
        below, tested, beside = map(day.versions, names)
        day.land("4,e,5")
        day.until(day.is_all_there, process)
        day.until(lambda: day.versions("beside") > beside + 2, process)
        assert [day.versions(name) for name in names[:2]] == [below, tested]
        day.write({"models/fragile.sql": SEVEN, "models/beside.sql": SEVEN})
        day.until(lambda: not failed(day), process)
        for name in names:
            assert day.read(f"select id from {{s}}.{name}")["id"].tolist() == [7]

        # A file that does not parse fails the rounds that meet it.
        before = failures(day)
        day.write({"models/bad.yml": "models: ["})
        day.until(lambda: failures(day) > before, process)
        assert not failed(day)
        day.land("5,f,6", "1,g,7")
        day.remove("models/bad.yml")
        day.until(day.is_all_there, process)

        # Another command gets the home between two rounds, and gives it back.
        out = day.beside("run", "--select", "beside")
        assert "Completed successfully" in out
        day.land("6,h,8")
        day.until(day.is_all_there, process)

        # Tables are there before their round has ended, and metrics behind it.
        ended = rounds(day)
        day.until(lambda: rounds(day) > ended, process)
        check_metrics(day, port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0, day.said_so_far()[-4000:]
    assert all(line.startswith("{") for line in day.said_so_far().splitlines() if " round " in line)
    # The home is free, and its tables are whole.
    day.beside("build", "--select", FEED)
    assert day.is_all_there()


def check_metrics(day: Day, port: int) -> None:
    served = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    for text in (served, (day.root / "m.prom").read_text()):
        found = {
            (one.name, one.labels.get("model") or one.labels.get("selection")): one.value
            for family in text_string_to_metric_families(text)
            for one in family.samples
        }
        assert found["alluvium_waiting_events", "items"] == 0
        assert time.time() - found["alluvium_newest_event_timestamp_seconds", "items"] < 600
        assert found["alluvium_events_total", "items"] == len(day.landed_lines())
        assert found["alluvium_node_failed", "fragile"] == 0
        assert found["alluvium_rounds_total", "rest"] > 4
        assert found["alluvium_failures_total", "rest"] >= 1
        assert found["alluvium_heap_bytes", None] > 2**20


def test_ends(tmp_path: Path) -> None:
    """A round that does not end in its time is cancelled; one above the memory is the last."""
    day = make(tmp_path / "day", add_jars(tmp_path / "home"))
    often = ["--every", "1d"]
    with day.running("--select", "beside", *often, "--max-memory", "1 MiB") as process:
        assert process.wait(240) == 75, day.said_so_far()[-4000:]
    assert "above --max-memory" in day.said_so_far()
    with day.running("--select", "slow", *often, "--stop-within", "2s") as process:
        day.until(lambda: "START python" in day.said_so_far(), process)
        time.sleep(3)
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, day.said_so_far()[-4000:]
        assert time.monotonic() - asked > 2
    assert "CANCEL query model.day.slow" in day.said_so_far()
    assert day.read("select id from {s}.beside")["id"].tolist() == [1]
