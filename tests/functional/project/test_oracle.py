"""The reference project, batch after batch of a quarter, against an oracle on the landed files.

`test_build.py` has a few batches.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from functional.project.reference import ENGINES, METHODS, Reference, given_seed, groups
from oracle.flights import Delete, replay_duckdb, replay_pandas

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Make = Callable[..., Reference]
Replayed = Callable[[int], list[Path]]


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
