"""Java's engine says of expressions what Python's does: thousands of pairs in one short process."""

import itertools
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.automata import Conjunct, may_contain, may_match
from unit.automata.texts import hosts, names, pods, uuids

from alluvium.engine import java
from alluvium.plan.automata import Index, summarize

ENGINE = Path(__file__).with_name("Engine.java")
SIGNS = (
    "ab01\n\r\t\x00\x1f\x7f\x85\u2028\\^$.|?*+()[]{}-&~#\" ':=!<>,/"
    "\U0001f600\U00020000\uffff\u0130ßé"
)


def columns() -> Iterator[list[str]]:
    draw = random.Random(7)
    yield from ([sign] for sign in SIGNS)
    yield from ([*pair] for pair in itertools.pairwise(SIGNS))
    yield from (["x" + sign for sign in draw.sample(SIGNS, 9)] for _ in range(60))
    yield from (
        ["".join(draw.choices(SIGNS, k=draw.randrange(6))) for _ in range(n)] for n in range(60)
    )
    pools = [make(5000) for make in (pods, uuids, hosts, names)]
    yield from (pool[:400] for pool in pools)
    # Of files as small as tests/unit/automata/test_trials.py draws them.
    yield from (draw.choices(pool, k=round(2 ** draw.uniform(0, 9))) for pool in pools)
    # Longer than a recursive engine's stack.
    yield [sign * 75 * 1024 for sign in "ab"] + ["ab" * 500, "b"]
    yield []
    yield [chr(code) for code in range(0x110000) if code % 997 == 0 and not 0xD800 <= code < 0xE000]


def probes(column: list[str], draw: random.Random) -> list[str]:
    own = draw.sample(column, min(20, len(column)))
    near = [value[: draw.randrange(len(value) + 1)] for value in own]
    near += [value + draw.choice(SIGNS) for value in own]
    return [*own, *near, *SIGNS, "", "\r\n", "zebra"]


def test_java_says_the_same() -> None:
    draw = random.Random(8)
    asked: list[tuple[Index, str]] = []
    lines = []
    for column in columns():
        for budget in (60, 512):
            index = summarize(column, budget)
            if index is None:
                continue
            lines.append("p" + (index.text or "").encode().hex())
            for value in probes(column, draw):
                asked.append((index, value))
                lines.append("v" + value.encode().hex())
    program = java.check(dict(os.environ)).path
    ran = subprocess.run(
        [program, "-XX:TieredStopAtLevel=1", "-Xshare:auto", ENGINE],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = [
        tuple(sign == "1" for sign in ran.stdout[at : at + 2])
        for at in range(0, len(ran.stdout), 2)
    ]
    assert len(answers) == len(asked) > 10_000
    for (index, value), (matches, goes_on) in zip(asked, answers, strict=True):
        assert matches is may_contain(index, value), (index.text, value)
        # hitEnd may be set in more cases; a word that goes on is never missed.
        assert goes_on or not may_match(index, Conjunct("starts_with", (value,))), (
            index.text,
            value,
        )
