"""Drawn histories of a landing folder and its bronze, against what bronze must hold.

`HISTORIES=300 HISTORIES_SEED=7000` draws so many, from this number on. Each has a number of its
own, so `HISTORIES=1 HISTORIES_SEED=<number>` draws one again.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from functional.runner import add_jars, new_session
from functional.stream.history import History

from alluvium.engine import session as engine
from alluvium.ingest import ledger

pytestmark = pytest.mark.spark
HISTORIES = int(os.environ.get("HISTORIES", "10"))
FIRST = int(os.environ.get("HISTORIES_SEED", "0"))
STEPS = 8
NUMBERS = range(FIRST, FIRST + HISTORIES)
_names = itertools.count(1)


@pytest.fixture(autouse=True)
def many_files_of_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of few commits are noted in one, so that it happens here."""
    monkeypatch.setattr(ledger, "_APART", 3)


@contextmanager
def shown(history: History) -> Iterator[None]:
    """A history that fails says what it was."""
    try:
        yield
    except BaseException:
        print(history)
        raise


def begin(home: Path, folder: Path, number: int) -> History:
    session = new_session(home)
    session.sql("create schema if not exists bronze")
    return History(folder, session, f"bronze.history_{next(_names)}", random.Random(number))


@pytest.mark.parametrize(
    ("number", "steps"),
    [
        *((one, STEPS // 2) for one in NUMBERS[:2]),
        *(pytest.param(one, STEPS, marks=pytest.mark.slow) for one in NUMBERS),
    ],
)
def test_no_place_is_lost_or_doubled(home: Path, tmp_path: Path, number: int, steps: int) -> None:
    history = begin(home, tmp_path / "feed", number)
    with shown(history):
        for _ in range(steps):
            history.step()
        history.end()


@pytest.mark.slow
def test_a_home_is_moved_and_its_copy_goes_on_too(tmp_path: Path) -> None:
    """Three homes are three JVMs: warehouse and metastore of a home are fixed for a JVM."""
    first, copied, moved = (tmp_path / name for name in ("home", "copied", "moved"))
    add_jars(first)
    histories = {number: begin(first, first / f"feeds/{number}", number) for number in NUMBERS}
    for history in histories.values():
        with shown(history):
            for _ in range(STEPS // 2):
                history.step()
    engine.stop()
    shutil.copytree(first, copied, symlinks=True)
    first.rename(moved)
    for home in (copied, moved):
        session = new_session(home)
        for number, history in histories.items():
            other = history.at(home / f"feeds/{number}", session)
            with shown(other):
                for _ in range(STEPS // 2):
                    other.step()
                other.end()
        engine.stop()
