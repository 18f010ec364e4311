"""What the tests cost, in CPU seconds: `tests/cost.json`, and its use at the end of a run.

Machines differ, and a shared one from hour to hour. So figures that are kept are those of a quick
machine, on which a million steps of a loop take 0.06 s: seconds times 0.06 by what they take here.
`quick` are the tests of `make test`, `slow` those that only `make test-full` runs: in JVMs as users
have them, which takes half as much again.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest

FILE = Path(__file__).parents[1] / "cost.json"
DEAR = 5.0  # seconds from which a test or set-up has a line of its own
_RISE = 1.5
_QUICK_LOOP = 0.06
_STEPS = compile("step = 0\nwhile step < 1_000_000:\n    step += 1", "loop", "exec")
_SECONDS_BETWEEN_LOOPS = 60.0
# A file of less says nothing about a rise.
_NOISE = 3.0


def recorded() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def deal(costs: Mapping[str, float], hands: int) -> list[set[str]]:
    """Files in so many groups of about the same cost: the dearest first, to the cheapest group."""
    dealt: list[set[str]] = [set() for _ in range(hands)]
    sums = [0.0] * hands
    for name in sorted(costs, key=lambda one: (-costs[one], one)):
        cheapest = sums.index(min(sums))
        dealt[cheapest].add(name)
        sums[cheapest] += costs[name]
    return dealt


def shard_of(text: str, files: Collection[str]) -> set[str]:
    """The files of shard `2/4`, by what their slow tests cost; new ones cost as most do.

    Raises:
        ValueError: `text` does not name a shard.
    """
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise ValueError(f"SHARD is {text!r}; accepted: for example 2/4, the second of four")
    known = recorded().get("slow", {}).get("files", {})
    usual = median(known.values()) if known else 1.0
    return deal({name: known.get(name, usual) for name in files}, int(of))[int(number) - 1]


def risen(now: Mapping[str, float], then: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Files that cost over 1.5 times their figure, with how many times.

    A busy machine takes more CPU seconds for all of them, so each is held against the middle one.
    """
    times = {
        name: now[name] / then[name]
        for name in now.keys() & then.keys()
        if min(now[name], then[name]) > 0 and now[name] >= _NOISE
    }
    usual = max(1.0, median(times.values())) if times else 1.0
    for name in sorted(times, key=lambda one: -times[one]):
        if times[name] > _RISE * usual:
            yield name, times[name]


class Costs:
    """A plugin of the process that sums up: adds the reports' seconds up by file."""

    def __init__(self, writes: bool) -> None:
        """writes: `tests/cost.json` gets the figures of the files that ran."""
        self._writes = writes
        self._phases: dict[str, dict[str, float]] = {"quick": {}, "slow": {}}
        self._start = 0.0
        self._loops: list[float] = []
        self._looped = float("-inf")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if time.monotonic() - self._looped > _SECONDS_BETWEEN_LOOPS:
            self._loops.append(_loop())
            self._looped = time.monotonic()
        kind = "slow" if "slow" in report.keywords else "quick"
        name = f"set-up of {report.nodeid}" if report.when == "setup" else report.nodeid
        phases = self._phases[kind]
        # A tear-down is part of its test.
        # A worker that died has none.
        phases[name] = phases.get(name, 0.0) + getattr(report, "cpu", 0.0)
        self._start += getattr(report, "cpu_of_start", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._loops:
            return
        share = _QUICK_LOOP / median(self._loops)
        here = sum(sum(phases.values()) for phases in self._phases.values()) + self._start
        for phases in self._phases.values():
            phases.update({name: cpu * share for name, cpu in phases.items()})
        self._start *= share
        files = {kind: _by_file(phases) for kind, phases in self._phases.items()}
        every = {
            name: sum(of_kind.get(name, 0.0) for of_kind in files.values())
            for name in files["quick"] | files["slow"]
        }
        then = recorded()
        terminalreporter.section("CPU seconds of a quick machine")
        write = terminalreporter.write_line
        for name in sorted(every, key=lambda one: -every[one])[:10]:
            write(f"{every[name]:8.1f}  {name}")
        total = sum(every.values()) + self._start
        write(
            f"{total:8.1f}  all, with {self._start:.1f} of starts and imports;"
            f" {here:.1f} seconds of this machine"
        )
        for kind, of_kind in files.items():
            for name, times in risen(of_kind, then.get(kind, {}).get("files", {})):
                write(f"{name}: {times:.1f} times its figure in tests/cost.json")
        if self._writes:
            self._write(files, then)

    def _write(self, files: Mapping[str, Mapping[str, float]], then: dict[str, Any]) -> None:
        """The figures of the files that ran, in place of those that they had."""
        ran = files["quick"].keys() | files["slow"].keys()
        quick, slow = (then.get(kind, {}).get("files", {}) for kind in ("quick", "slow"))
        is_plain = os.environ.get("TEST_JVM") == "plain"
        if files["quick"] and not is_plain:
            dear = then.get("quick", {}).get("dear", {})
            dear = {name: cpu for name, cpu in dear.items() if _file_of(name) not in ran}
            dear |= {name: cpu for name, cpu in self._phases["quick"].items() if cpu >= DEAR}
            start = then.get("quick", {}).get("start", 0.0)
            # Of few files it would be less.
            if quick.keys() <= ran:
                start = self._start
            quick = _there(quick | files["quick"])
            then["quick"] = {
                "sum": round(sum(quick.values()) + start, 1),
                "start": round(start, 1),
                "dear": _rounded(_there(dear)),
                "files": _rounded(quick),
            }
        then["slow"] = {"files": _rounded(_there(slow | files["slow"]))}
        FILE.write_text(json.dumps(then, indent=2) + "\n")


def _loop() -> float:
    """Seconds for a million steps of a loop over a global name, by which machines are compared."""
    began = time.process_time()
    exec(_STEPS, {})
    return time.process_time() - began


def _by_file(phases: Mapping[str, float]) -> dict[str, float]:
    files: dict[str, float] = defaultdict(float)
    for name, cpu in phases.items():
        files[_file_of(name)] += cpu
    return dict(files)


def _file_of(phase: str) -> str:
    return phase.removeprefix("set-up of ").partition("::")[0]


def _there(costs: Mapping[str, float]) -> dict[str, float]:
    """Without those of files that are no more."""
    return {name: cpu for name, cpu in costs.items() if (FILE.parents[1] / _file_of(name)).exists()}


def _rounded(costs: Mapping[str, float]) -> dict[str, float]:
    return {name: round(costs[name], 1) for name in sorted(costs)}
