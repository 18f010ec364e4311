"""CPU seconds of each test: of its process, and of all processes that it has started.

JVMs and Spark's Python workers count too. What a test starts in the background counts for the test
that runs then. Linux only: elsewhere nothing is noted.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PROC = Path("/proc")
CAN_BE_NOTED = (_PROC / "self/stat").exists()
# A look costs milliseconds. What took less is booked with what comes next.
_TOO_SHORT = 0.005


def of_processes() -> float:
    """CPU seconds of this process and all below it, with those that have ended."""
    parents: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            try:
                text = (_PROC / entry.name / "stat").read_bytes()
            except OSError:
                continue  # it has just ended
            # Its name may hold any bytes; behind it come state, parent and figures.
            fields = text[text.rindex(b")") + 2 :].split()
            parents[int(fields[1])].append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total, todo = 0, [os.getpid()]
    while todo:
        process = todo.pop()
        total += ticks.get(process, 0)
        todo += parents[process]
    return total / os.sysconf("SC_CLK_TCK")


class Notes:
    """A plugin of each process that runs tests: a report says its `cpu` and `cpu_of_start`.

    Start is what a process does once for all its tests: imports, collection, and what
    `as_start` saw.
    """

    def __init__(self) -> None:
        self._seen, self._looked = 0.0, float("-inf")
        self._start = self._warm_up = 0.0

    @pytest.hookimpl
    def pytest_collection_finish(self) -> None:
        self._start += self._lap()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        lap = self._lap()
        report = yield
        report.cpu, report.cpu_of_start = lap - self._warm_up, self._start + self._warm_up
        self._start = self._warm_up = 0.0
        return report

    @contextmanager
    def as_start(self) -> Iterator[None]:
        """What is done inside is not booked on the test that asked for it first."""
        before = of_processes()
        yield
        self._warm_up += of_processes() - before

    def _lap(self) -> float:
        if time.monotonic() - self._looked < _TOO_SHORT:
            return 0.0
        try:
            seen = of_processes()
        except OSError:  # a machine that has no file or memory left fails the test, not the run
            return 0.0
        lap, self._seen, self._looked = seen - self._seen, seen, time.monotonic()
        return lap


notes = Notes()
