"""The reference project, batch after batch, against DuckDB and pandas on the same landed files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from functional.project.reference import ENGINES, METHODS, Reference, given_seed, groups
from oracle.flights import Delete, replay_duckdb, replay_pandas

pytestmark = pytest.mark.spark
Make = Callable[..., Reference]
Replayed = Callable[[int], list[Path]]


def methods_used(project: Reference) -> str:
    return str(project.sql("select max(method) m from {s}.flights_ranges")["m"][0])


def test_methods_taking_turns(make_reference: Make, replayed: Replayed) -> None:
    project = make_reference()
    files = replayed(4)
    batches = groups(files, 5, seed=5)
    turns = ["kmeans", "gaps", "cover", "none", "auto"]
    # So small a table is read sooner than ranges are planned.
    taken = {"auto": "none"}
    expected = zip(replay_duckdb(batches), replay_pandas(batches), strict=True)
    engines = cycle(ENGINES)
    for batch, method, (one, other) in zip(batches, turns, expected, strict=True):
        engine = next(engines)
        project.plan_by(method, engine=engine)
        project.land(batch)
        project.run()
        project.check(one)
        project.check(other)
        if method != "none":
            assert methods_used(project) == taken.get(method, method)
        figures = project.figures("flights")
        assert figures["method"] == taken.get(method, method)
        assert figures["engine"] == ENGINES[engine]
    project.check_lines()
    kept = project.sql("select count(*) n from {s}.flights_parsed where reject_reason is null")
    bronze, rejected = project.table("flights_events"), project.table("flights_rejected")
    assert len(bronze) == kept["n"][0] + len(rejected) > 10_000
    # Nothing new: no commit.
    names = ("flights_events", "flights_rejected", "flights")
    versions = [project.versions(name) for name in names]
    project.run()
    assert [project.versions(name) for name in names] == versions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "delete"), [*((method, "soft") for method in METHODS), ("kmeans", "hard")]
)
def test_every_batch_of_a_quarter(
    make_reference: Make, replayed: Replayed, method: str, delete: Delete
) -> None:
    seed = given_seed("tests/functional/project/test_oracle.py")
    project = make_reference()
    engines = cycle(ENGINES)
    batches = groups(replayed(76), 31, seed)
    oracle: Any = replay_duckdb if delete == "soft" else replay_pandas
    for place, (batch, expected) in enumerate(zip(batches, oracle(batches, delete), strict=True)):
        project.plan_by(method, delete, next(engines))
        project.land(batch)
        project.run()
        project.check(expected)
        print(place, project.figures("flights"))
    project.check_lines()
    lines = sum(len(file.read_text().splitlines()) for file in project.landed)
    assert lines >= 200_000
