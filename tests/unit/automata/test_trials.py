"""Random files and values: an index never says that a value is absent which is there."""

from __future__ import annotations

import datetime as dt
import os
import random
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from support.automata import from_text, may_contain
from unit.automata.test_java_engine import ENGINE, SIGNS
from unit.automata.texts import hosts, names, pods, uuids

from alluvium.engine import java
from alluvium.plan.automata import Index, budget, summarize
from alluvium.plan.automata.tags import to_text

VALUES = 200
FEW = 20_000
POOLS: list[list[str]] = [make(5000) for make in (pods, uuids, hosts, names)]
SERVICES = [f"{one}-{two}" for one in ("api", "auth", "cart") for two in ("reader", "writer", "db")]
DAY = dt.date(2024, 1, 1)
NAME = 'größe "x"'


def signs(draw: random.Random) -> str:
    return "".join(draw.choices(SIGNS, k=draw.randrange(8)))


# What a column's values are drawn by.
KINDS: list[Callable[[random.Random], Callable[[], Any]]] = [
    *(lambda draw, pool=pool: lambda: draw.choice(pool) for pool in POOLS),  # type: ignore[misc]
    lambda draw: lambda: signs(draw),
    lambda draw: lambda: draw.choice(SERVICES),
    lambda draw: lambda: draw.choice((200, 301, 404, 429, 500)),
    lambda draw: lambda: draw.randrange(-(10**6), 10**6) * draw.choice((1, 1, 10**9)),
    lambda draw: lambda: draw.random() < 0.5,
    lambda draw: lambda: DAY + dt.timedelta(draw.randrange(400)),
]


def file(draw: random.Random) -> tuple[list[Any], Callable[[], Any], Index | None]:
    """The values of a column, what draws more of them, and what its tag says."""
    value = draw.choice(KINDS)(draw)
    values = [value() for _ in range(round(2 ** draw.uniform(0, 9)))]
    with_null = values + [None] * draw.randrange(2)
    index = summarize(with_null, budget.bytes_for(NAME, len(set(with_null))))
    if index is None:
        return values, value, None
    text = to_text({NAME: index})
    assert len(text.encode()) - 1 <= budget.MOST_BYTES
    read = from_text(text)[NAME]
    assert read == index
    return values, value, read


@pytest.mark.parametrize(
    "trials", [FEW, pytest.param(1_000_000, marks=pytest.mark.slow)], ids="{:,}".format
)
def test_no_value_is_missed(trials: int) -> None:
    draw = random.Random(trials)
    asked: list[tuple[Index, str]] = []
    lines: list[str] = []
    tried = few = exact = 0
    while tried < trials:
        values, value, index = file(draw)
        if index is None:
            continue
        present, absent = set(values), [value() for _ in range(20)]
        for one in draw.choices(values, k=VALUES):
            assert may_contain(index, one), (index, one)
        tried += VALUES
        if len(present) <= 50:
            few, exact = few + 1, exact + index.exact
        if index.exact:
            assert not [one for one in absent if one not in present and may_contain(index, one)]
        if index.text is not None:
            lines.append("p" + index.text.encode().hex())
            for one in draw.choices(values, k=VALUES):
                asked.append((index, one))
                lines.append("v" + one.encode().hex())
            tried += VALUES
    # What machines write of few values is exact; long random names do not fit.
    assert exact > 0.8 * few > 0
    if trials == FEW:
        return  # Java's answers are asked for in test_java_says_the_same: one start of it is enough
    ran = subprocess.run(
        [java.check(dict(os.environ)).path, "-XX:TieredStopAtLevel=1", "-Xshare:auto", ENGINE],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert len(ran.stdout) == 2 * len(asked)
    missed = [pair for place, pair in enumerate(asked) if ran.stdout[2 * place] != "1"]
    assert not missed


@pytest.mark.parametrize("count", [1, 2, 10, 50])
@pytest.mark.parametrize("pool", [pods, hosts, lambda n: [f"service-{i:03}" for i in range(n)]])
def test_few_values_of_machines_have_no_false_positive(
    pool: Callable[[int], list[str]], count: int
) -> None:
    every = sorted(set(pool(5000)))
    for seed in range(10):
        present = set(random.Random(seed).sample(every, count))
        index = summarize(present, budget.bytes_for("host", count))
        assert index is not None
        assert index.exact
        assert [one for one in every if may_contain(index, one)] == sorted(present)
