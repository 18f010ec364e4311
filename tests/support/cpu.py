"""CPU seconds of each test: of its worker, and of all processes that the worker has started.

`TEST_CPU=seconds.jsonl make test` notes them, `python tests/support/cpu.py seconds.jsonl` adds them
up by file (Linux only). What a test starts in the background counts for the test that runs then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest


def _of_processes() -> float:
    """CPU seconds of this process and all below it, with those that have ended."""
    parents: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue  # it has just ended
            # Its name may hold anything; behind it come state, parent and figures.
            fields = text[text.rindex(")") + 2 :].split()
            parents[int(fields[1])].append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    found, todo = 0, [os.getpid()]
    while todo:
        process = todo.pop()
        found += ticks.get(process, 0)
        todo += parents[process]
    return found / os.sysconf("SC_CLK_TCK")


class Seconds:
    """A plugin that appends to a file: worker, test, phase, wall seconds and CPU seconds."""

    def __init__(self, path: Path):
        self._path = path
        self._worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._last = time.monotonic(), _of_processes()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        self._note(item.nodeid, call.when)

    def pytest_sessionfinish(self) -> None:
        """What the fixtures of the session took to end."""
        self._note("", "end")

    def _note(self, test: str, phase: str) -> None:
        now = time.monotonic(), _of_processes()
        wall, cpu = (round(new - old, 3) for new, old in zip(now, self._last, strict=True))
        self._last = now
        with self._path.open("a") as file:
            file.write(json.dumps([self._worker, test, phase, wall, cpu]) + "\n")


def main(path: str) -> None:
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for line in Path(path).read_text().splitlines():
        _, test, phase, wall, cpu = json.loads(line)
        of_file = files[test.split("::")[0]]
        for place, value in enumerate((cpu, wall, phase == "call")):
            of_file[place] += value
    print("CPU s   wall s  tests")
    for name, (cpu, wall, tests) in sorted(files.items(), key=lambda one: -one[1][0]):
        print(f"{cpu:7.1f} {wall:7.1f} {tests:5.0f}  {name}")
    print(f"{sum(one[0] for one in files.values()):7.1f}  all")


if __name__ == "__main__":
    main(sys.argv[1])
