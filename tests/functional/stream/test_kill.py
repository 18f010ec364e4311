"""Killed with -9 at any moment and run again: every line is in the table exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from functional.runner import add_jars
from functional.stream.bronze import read_lines

pytestmark = [pytest.mark.spark, pytest.mark.slow]
WORKER = Path(__file__).with_name("worker.py")


class Feed:
    """A landing folder, an embedded home, and runs in processes of their own."""

    def __init__(self, root: Path):
        self.root = root
        self.home = add_jars(root / "home")
        self._landed = 0

    def land(self, files: int) -> None:
        folder = self.root / "landing"
        folder.mkdir(exist_ok=True)
        for _ in range(files):
            self._landed += 1
            lines = [f"{self._landed}-{i}\n" for i in range(self._landed)]
            (folder / f"{self._landed}.txt").write_text("".join(lines))

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(WORKER), str(self.home), str(self.root), *args]
        with (self.root / "stderr").open("ab") as log:
            return subprocess.Popen(command, stderr=log)

    def die_at(self, *args: str) -> None:
        assert self.start(*args).wait(300) == -signal.SIGKILL, self._said()

    def _said(self) -> str:
        return (self.root / "stderr").read_text()[-2000:]

    def finish(self) -> list[int]:
        """Run to the end and compare with the files; returns the batch ids."""
        assert self.start("none").wait(300) == 0, self._said()
        rows = json.loads((self.root / "rows.json").read_text())
        expected = {k: v.decode() for k, v in read_lines(self.root / "landing").items()}
        assert Counter((p, o, v) for p, o, v, _ in rows) == Counter(
            (p, o, v) for (p, o), v in expected.items()
        )
        of_file: dict[str, set[int]] = {}
        for partition, _, _, batch in rows:
            of_file.setdefault(partition, set()).add(batch)
        assert all(len(batches) == 1 for batches in of_file.values())
        return sorted({row[3] for row in rows})


@pytest.mark.parametrize(
    "points",
    [["second_committed"], ["planned", "second_committed"]],
    ids=["after", "before and after"],
)
def test_before_and_after_the_commit(tmp_path: Path, points: list[str]) -> None:
    feed = Feed(tmp_path)
    feed.land(5)
    for point in points:
        feed.die_at(point)
    assert feed.finish() == [1, 2, 3]


@pytest.mark.parametrize("point", ["created", "pointer", "committed", "second_planned", "finished"])
def test_at_each_point(tmp_path: Path, point: str) -> None:
    feed = Feed(tmp_path)
    feed.land(4)
    feed.die_at(point)
    feed.land(3)
    feed.finish()


@pytest.mark.parametrize("point", ["planned", "committed", "second_planned", "finished"])
def test_during_a_full_refresh(tmp_path: Path, point: str) -> None:
    feed = Feed(tmp_path)
    feed.land(4)
    before = feed.finish()
    feed.land(1)
    feed.die_at(point, "refresh")
    after = feed.finish()
    assert min(after) > max(before)


def test_at_random_moments(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    feed = Feed(tmp_path)
    feed.land(2)
    started = time.monotonic()
    feed.finish()
    whole = time.monotonic() - started
    for _ in range(8):
        feed.land(rng.randrange(1, 5))
        process = feed.start("none")
        time.sleep(rng.uniform(0.3, 1.0) * whole)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    feed.finish()
