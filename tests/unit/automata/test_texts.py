"""Columns of strings: no value is ever lost, and what an index says of others."""

import itertools
import random
import re
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.automata import from_tag, may_contain
from support.drawn import examples
from unit.automata.texts import CLOSE, COLUMNS, TEXTS, hosts, names, pods, uuids

from alluvium.plan.automata import Index, summarize

BUDGETS = st.integers(0, 400)


def of(values: Any, budget: int = 1024) -> Index:
    index = summarize(values, budget)
    assert index is not None
    assert index.text is not None
    return index


def test_the_services_of_the_source() -> None:
    index = of(["writer", "reader", "compactor", "reader"])
    assert index.text == "^(compactor|reader|writer)$"
    assert index.exact
    assert not may_contain(index, "metadata")
    assert all(may_contain(index, service) for service in ("compactor", "reader", "writer"))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([f"host-{n:02d}" for n in range(50)], "^host-[0-4][0-9]$"),
        ([f"{n:04d}" for n in range(10_000)], "^[0-9]{4}$"),
        (["", "a", "aa", "aaa"], "^a{0,3}$"),
        (["x.y", "x(y", "x\n"], r"^x(\x0a|[(]y|[.]y)$"),
        ([""], "^$"),
        ([], "^(?!)$"),
    ],
)
def test_few_bytes_for_all_values(values: list[str], text: str) -> None:
    index = of(values)
    assert (index.text, index.exact) == (text, True)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pods(3_000), "^pod-[0-9]{4}-[a-z]{5}$"),
        (uuids(3_000), "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"),
        ([f"1.{n % 30}.{n * 7 % 200}" for n in range(2_000)], "^1[.][0-9]{1,2}[.][0-9]{1,3}$"),
        (
            [f"2024-05-{n % 28 + 1:02d}T{n % 24:02d}:{n * 7 % 60:02d}:30Z" for n in range(3_000)],
            "^2024-05-[0-2][0-9]T[0-2][0-9]:[0-5][0-9]:30Z$",
        ),
    ],
)
def test_structure_survives(values: list[str], text: str) -> None:
    """In a budget that is just enough for it."""
    text = text.replace("([0-9a-f]{4}-){3}", "[0-9a-f]{4}-" * 3)
    index = of(values, len(text) + len('{"v":1,"exact":true,"re":""}'))
    assert (index.text, index.exact) == (text, False)


def test_prefixes_are_told_apart_as_far_as_the_budget_reaches() -> None:
    """Of pods that are not there, the fewer are let in, the more bytes there are."""
    mine, others = pods(400), pods(4_000, seed=5)
    rates = []
    for budget in (64, 256, 1024):
        index = of(mine, budget)
        rates.append(sum(may_contain(index, one) for one in others) / len(others))
    assert 1 == rates[0] > rates[1] > rates[2], rates
    assert rates[2] < 0.4


@given(COLUMNS, BUDGETS)
def test_no_value_is_lost(column: list[str | None], budget: int) -> None:
    index = summarize(column, budget)
    if index is None:
        return
    assert len(index.to_tag().encode()) <= budget
    assert index.has_null == (None in column)
    assert all(may_contain(index, value) for value in column if value is not None)
    assert from_tag(index.to_tag()) == index


@given(COLUMNS, BUDGETS, st.lists(TEXTS, max_size=30))
def test_exact_means_just_the_values(
    column: list[str | None], budget: int, others: list[str]
) -> None:
    index = summarize(column, budget)
    if index is not None and index.exact:
        near = [value + sign for value in column if value is not None for sign in ("\n", "a", "")]
        for other in (*others, *near):
            assert may_contain(index, other) == (other in column)


@given(CLOSE, BUDGETS)
def test_exact_against_all_words_of_an_alphabet(column: list[str], budget: int) -> None:
    """An oracle that reads no automaton: all words of up to six characters are tried."""
    index = summarize(column, budget)
    if index is None:
        return
    assert index.text is not None
    accepts = re.compile(index.text).fullmatch
    found = {
        word
        for length in range(7)
        for word in map("".join, itertools.product("ab1-", repeat=length))
        if accepts(word)
    }
    assert found >= set(column)
    if index.exact:
        assert found == set(column)


@given(COLUMNS, BUDGETS, st.randoms(use_true_random=False))
@examples(40)
def test_equal_columns_give_equal_tags(
    column: list[str | None], budget: int, draw: random.Random
) -> None:
    again = column * 2
    draw.shuffle(again)
    arrow = pa.chunked_array([pa.array(again[:5], pa.string()), pa.array(again[5:], pa.string())])
    one = summarize(column, budget)
    for other in (again, arrow, arrow.combine_chunks().dictionary_encode()):
        assert summarize(other, budget) == one


def test_words_that_end_inside_of_a_run_share_what_follows() -> None:
    """`db5` and `db53` need not have the rest of a host name twice."""
    column = [f"db{n}.eu.example.net" for n in range(1, 4000, 7)]
    index = of(column, 300)
    assert (index.text or "").count("example") == 1
    assert "()" not in (index.text or "")
    assert not may_contain(index, "db.eu.example.net")


def test_small_columns_are_exact_in_a_kib() -> None:
    for column in (pods(40), hosts(50), [f"service-{n}" for n in range(50)]):
        assert of(column).exact


def test_long_values() -> None:
    draw = random.Random(6)
    values = ["".join(draw.choices("ab\n中", k=75 * 1024)) for _ in range(40)] + ["short", ""]
    index = of(values)
    assert not index.exact
    assert all(may_contain(index, one) for one in values)
    assert not may_contain(index, "zebra")
    assert of(["a" * 900]).exact


@pytest.mark.parametrize(
    "count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)], ids="{:,}".format
)
def test_a_million_values(count: int) -> None:
    # As `pods` has them, in a tenth of its time.
    draw = np.random.default_rng(1)
    letters = draw.integers(ord("a"), ord("z") + 1, (count, 5), dtype=np.uint8).view("S5")
    values = [
        f"pod-{number:04}-{text}"
        for number, text in zip(
            draw.integers(0, 10_000, count).tolist(),
            letters.ravel().astype(str).tolist(),
            strict=True,
        )
    ]
    # Of its own time: what else the machine does meanwhile says nothing.
    started = time.process_time()
    index = of(values, 256)
    assert time.process_time() - started < count / 100_000  # 1.2 s a million on an idle core
    assert len(index.to_tag().encode()) <= 256
    accepts = re.compile(index.text or "").fullmatch
    assert all(map(accepts, values))
    assert not may_contain(index, "pod-12345-abcde")


@pytest.mark.parametrize("values", [["a\ud800"], [1.5], [b"x"], ["a", 1]])
def test_what_has_no_index(values: list[object]) -> None:
    assert summarize(values, 1024) is None


def test_a_budget_that_holds_no_pattern() -> None:
    assert summarize(names(500), 30) is None


@pytest.mark.parametrize(
    "tag",
    [
        None,
        "",
        "{",
        "[]",
        "null",
        '{"v":2,"re":"^a$"}',
        '{"v":true,"re":"^a$"}',
        '{"v":1,"re":"^a"}',
        '{"v":1,"re":"^(a$"}',
        '{"v":1,"re":"^a)$"}',
        '{"v":1,"re":"^[b-a]$"}',
        '{"v":1,"re":"^a{3,1}$"}',
        '{"v":1,"re":"^a{99999999999}$"}',
        '{"v":1,"re":"^\\\\d$"}',
        '{"v":1,"re":"^(?i)a$"}',
        '{"v":1,"re":5}',
        '{"v":1,"re":"^a$","null":1}',
        '{"v":1,"re":"^a$","more":1}',
        '{"v":1,"type":"int","in":[1]}',
        '{"v":1,"type":"int","in":[2,1]}',
        '{"v":1,"type":"double","in":[1,2]}',
        '{"v":1,"type":"int","in":[1,2.5]}',
        '{"v":1,"re":"^' + "(" * 5000 + '$"}',
        "[" * 100_000,
    ],
)
def test_a_tag_that_says_nothing(tag: str | None) -> None:
    assert from_tag(tag) is None


@pytest.mark.parametrize("column", [pods(400), uuids(400), hosts(400), names(400)])
def test_time_grows_with_the_length(column: list[str]) -> None:
    """Long runs that fail at the last character: 16 times as long takes no more than in step."""
    pattern = re.compile(of(column, 512).text or "")

    def seconds(times: int) -> float:
        runs = [
            value[:at] + value[at] * times + "\x00"
            for value in column
            for at in (0, 4, -1)
            if len(value) > 4
        ]
        return min(_timed(pattern, runs) for _ in range(3))

    assert seconds(16_000) < 16 * 4 * seconds(1_000) + 0.01


def _timed(pattern: re.Pattern[str], values: list[str]) -> float:
    started = time.process_time()
    for value in values:
        pattern.fullmatch(value)
    return time.process_time() - started
