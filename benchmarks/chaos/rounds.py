"""Rounds of chaos by seed: the command line, a process to kill, and the outcomes that are kept."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from delta import exceptions
from merging.home import JARS

from alluvium.engine import session as engine

# What Delta throws at a writer that another writer's commit has overtaken.
LOST = tuple(getattr(exceptions, name) for name in exceptions.__all__)


class Outcome(Protocol):
    """A round: a dataclass of what happened, and whether the table was right at its end."""

    seed: int
    kind: str

    @property
    def clean(self) -> bool: ...


class Worker:
    """A process and its JVM, in a process group of their own; lines of JSON go in and out."""

    def __init__(self, script: str, home: Path):
        self._log = (home / "worker.log").open("a")
        self._home = home
        self._process = subprocess.Popen(
            [sys.executable, script, "--worker", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._ready = False
        self.seconds = 5.0  # of its last task

    def wait(self) -> None:
        """Until it is ready for its first task."""
        if not self._ready:
            self._read()
            self._ready = True

    def start(self, **task: Any) -> None:
        self.wait()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()

    def run(self, **task: Any) -> dict[str, Any]:
        self.wait()
        started = time.monotonic()
        self.start(**task)
        answer = json.loads(self._read())
        self.seconds = time.monotonic() - started
        return answer

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.kill()
            raise RuntimeError(f"a worker died:\n{(self._home / 'worker.log').read_text()[-3000:]}")
        return line


def serve(answer: Callable[[dict[str, Any]], Any]) -> None:
    """A worker's end: a dataclass for each task, until its standard input is closed."""
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(answer(json.loads(line)))), flush=True)


def main(
    about: str,
    results: Path,
    features: Sequence[str],
    totals: Sequence[str],
    work: Callable[[Path], None] | None,
    players: Callable[[Path, Path], AbstractContextManager[Callable[[int], Outcome]]],
) -> int:
    """The command line of a script of rounds; its exit code.

    Args:
        about: what the script does.
        results: where outcomes are kept.
        features: fields of an outcome that say what a round had; rounds with each are counted.
        totals: fields of an outcome to sum up.
        work: what the script does as a worker, in the home it is given; None if it has none.
        players: from an empty folder and that of the jars, what plays the round of a seed.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=3, help="how many new ones (3)")
    parser.add_argument("--seed", type=int, nargs="+", help="these rounds instead of new ones")
    parser.add_argument("--jars", type=Path, default=JARS)
    parser.add_argument("--results", type=Path, default=results)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker and work is not None:
        work(asked.worker)
        return 0
    # What runs then is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kept = _kept(asked.results)
    new = (seed for seed in itertools.count() if seed not in kept)
    seeds = asked.seed or list(itertools.islice(new, asked.rounds))
    bad = 0
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as root:
        try:
            with players(Path(root), asked.jars) as play:
                for seed in seeds:
                    print(f"seed {seed}", flush=True)
                    outcome = play(seed)
                    _keep(asked.results, outcome, features, totals)
                    print(f"  {json.dumps(asdict(outcome))}", flush=True)
                    bad += not outcome.clean
        finally:
            engine.stop()
    summary = json.loads(asked.results.read_text())["summary"]
    for kind, count in summary["kinds"].items():
        print(f"{kind:20} {count:5}")
    print(f"{len(seeds)} rounds, {bad} of them with a table that was not right")
    return 1 if bad else 0


def _kept(results: Path) -> dict[int, dict[str, Any]]:
    found = json.loads(results.read_text())["rounds"] if results.exists() else []
    return {entry["seed"]: entry for entry in found}


def _keep(results: Path, outcome: Outcome, features: Sequence[str], totals: Sequence[str]) -> None:
    """Put a round among the kept ones, in the place of an earlier one of its seed."""
    folder = os.open(results.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # another process may play rounds too
        _write(results, outcome, features, totals)
    finally:
        os.close(folder)


def _write(results: Path, outcome: Outcome, features: Sequence[str], totals: Sequence[str]) -> None:
    rounds = _kept(results) | {outcome.seed: asdict(outcome)}
    ordered = [rounds[seed] for seed in sorted(rounds)]
    kinds = [entry.get(key) for entry in ordered for key in ("kind", "change")]
    summary = {
        "rounds": len(ordered),
        "kinds": dict(sorted(Counter(filter(None, kinds)).items())),
        # Earlier rounds had not all of these fields.
        "with": {key: sum(bool(entry.get(key)) for entry in ordered) for key in features},
        **{key: sum(entry.get(key, 0) for entry in ordered) for key in totals},
    }
    lines = ",\n".join(json.dumps(entry) for entry in ordered)
    text = f'{{"summary": {json.dumps(summary)},\n"rounds": [\n{lines}\n]}}\n'
    fresh = results.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(results)
