"""What is read of tags: ours as they were written, and nothing of all else."""

import json
import math
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import examples

from alluvium.plan.compaction import tags as layout_tags
from alluvium.plan.compaction.tags import Tag, are_of, read

LONG = st.integers(-(2**63), 2**63 - 1)
HEX = st.binary(max_size=6).map(bytes.hex)
TAGS = st.builds(
    Tag,
    row_key=st.text(max_size=6).map(lambda columns: f"lexical({columns})"),
    level=st.integers(0, 20),
    lo=HEX,
    hi=HEX,
    arrived=st.floats(0, 2**33),
    tier_bytes=st.integers(0, 2**62),
    locality_bytes=LONG,
)
OURS = Tag("lexical(a)", 1, "00", "0f", 1.5, 10, 20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | LONG
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def column(texts: list[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


def known(texts: list[str | None]) -> list[dict[str, Any] | None]:
    """What `read` says, None where it says nothing."""
    rows = read(column(texts)).to_pylist()
    return [row if any(value is not None for value in row.values()) else None for row in rows]


def unfit(name: str) -> st.SearchStrategy[Any]:
    """Values that the tag's `name` cannot have."""
    right: tuple[type, ...] = (str,) if name in ("row_key", "lo", "hi") else (int,)
    right += (float,) if name == "arrived" else ()
    return JSON.filter(lambda value: type(value) not in right)


@st.composite
def extended(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Ours, with keys that are not, in any order and spelling."""
    ours = asdict(draw(TAGS))
    more = draw(st.dictionaries(st.text(max_size=3), JSON, max_size=2))
    mixed = dict(draw(st.permutations(list((more | ours).items()))))
    ascii_only, indent = draw(st.booleans()), draw(st.none() | st.just(1))
    return json.dumps(mixed, ensure_ascii=ascii_only, indent=indent), ours


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """Ours but for one value, which is missing or of another type."""
    ours = asdict(draw(TAGS))
    name = draw(st.sampled_from(sorted(ours)))
    if draw(st.booleans()):
        ours[name] = draw(unfit(name))
    else:
        del ours[name]
    return json.dumps(ours)


# A text, and the tag that it is.
TEXTS: st.SearchStrategy[tuple[str | None, dict[str, Any] | None]] = TAGS.map(
    lambda tag: (tag.text(), asdict(tag))
) | extended() | st.one_of(
    st.none(),
    spoiled(),
    JSON.map(json.dumps),
    TAGS.map(lambda tag: tag.text()[:-1]),
    TAGS.map(lambda tag: tag.text() * 2),
    st.text(max_size=6),
).map(lambda text: (text, None))  # fmt: skip


@given(tags=st.lists(TAGS, min_size=1, max_size=5))
@examples(25)
def test_what_is_written_is_read(tags: list[Tag]) -> None:
    assert known([tag.text() for tag in tags]) == [asdict(tag) for tag in tags]


@given(cases=st.lists(TEXTS, max_size=6))
@examples(100)
def test_what_is_not_ours_is_unknown_and_hides_no_other(
    cases: list[tuple[str | None, dict[str, Any] | None]],
) -> None:
    assert known([text for text, _ in cases]) == [tag for _, tag in cases]


@pytest.mark.parametrize(
    "text",
    [
        None, "", " ", "\n", "{}", "null", "true", "1", "1.5", '"text"', "[]", "[1, 2]", "[{}]",
        "}{", "{", '{"a": 1}', '{"row_key": 5}', '{"row_key": null}', '{"row_key": ["a"]}',
        "\x00", "\ufeff{}",
        json.dumps(asdict(OURS) | {"level": "1"}), json.dumps(asdict(OURS) | {"level": 1.5}),
        json.dumps(asdict(OURS) | {"level": True}), json.dumps(asdict(OURS) | {"lo": 5}),
        json.dumps(asdict(OURS) | {"hi": {"a": 1}}),
        json.dumps(asdict(OURS) | {"tier_bytes": 2**63}),
        json.dumps(asdict(OURS) | {"arrived": math.nan}), json.dumps([asdict(OURS)]),
        json.dumps(asdict(OURS) | {"arrived": 2**63}), json.dumps(asdict(OURS) | {"lo": "\ud800"}),
        json.dumps(asdict(OURS) | {"arrived": 10**400}), "[" * 10**5, "9" * 5000,
        OURS.text().replace('"level":1', '"level":01'), OURS.text().replace("1.5", "1."),
        OURS.text().replace("(a)", "(\\x)"), OURS.text().replace("(a)", "(\\ud800)"),
        OURS.text().replace("(a)", "(\n)"), OURS.text().replace("(a)", '(")'),
        OURS.text().replace('"hi":"0f"', '"hi":"0f","hi":5'),
        OURS.text()[:-1], OURS.text() + ",", OURS.text() * 2, OURS.text() + "\n" + OURS.text(),
    ],
)  # fmt: skip
def test_garbage_is_unknown_and_its_neighbours_are_known(text: str | None) -> None:
    assert known([OURS.text(), text, OURS.text()]) == [asdict(OURS), None, asdict(OURS)]
    assert known([text]) == [None]


def test_keys_that_a_later_version_adds_are_passed_over() -> None:
    later = json.dumps(
        {"version": 2, **asdict(OURS), "more": {"row_key": [1, {"level": 9}]}}, indent=1
    )
    assert known([later, OURS.text()]) == [asdict(OURS), asdict(OURS)]


@given(tag=TAGS, other=st.text(max_size=6))
@examples(25)
def test_of_which_sort_key_a_tag_is(tag: Tag, other: str) -> None:
    texts = column([tag.text(), None, "", json.dumps(asdict(tag), indent=1)])
    assert are_of(texts, tag.row_key).to_pylist() == [True, False, False, False]
    if other != tag.row_key:
        assert are_of(texts, other).to_pylist() == [False] * 4


def test_a_tag_of_an_earlier_version_has_cpu_times_which_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = OURS.text().replace("}", ',"tier_cpu":3,"locality_cpu":-4}')
    halved = OURS.text().replace("}", ',"tier_cpu":3}')
    assert known([timed, halved, OURS.text()]) == [asdict(OURS)] * 3
    # Also where it is one of 100,000: not text by text.
    monkeypatch.setattr(layout_tags, "_values", None)
    assert known([timed] * 2) == [asdict(OURS)] * 2


def test_unicode_is_kept() -> None:
    tag = Tag('lexical(größe,😀,a\nb,"q",\\)', 0, "", "", 0.0, 0, 0)
    plain = json.dumps(asdict(tag), ensure_ascii=False)
    assert known([tag.text(), plain]) == [asdict(tag), asdict(tag)]


def test_no_fragments() -> None:
    empty = read(pa.chunked_array([], pa.string()))
    assert (empty.num_rows, empty.column_names) == (0, list(asdict(OURS)))
    assert read(column([None, None])).num_rows == 2


def test_chunks_do_not_matter() -> None:
    chunks = pa.chunked_array([[OURS.text()], [], [None, "x"], [OURS.text()]], pa.string())
    assert [row["level"] for row in read(chunks).to_pylist()] == [1, None, None, 1]


# Arrow's reader of JSON, which takes all texts for one, ends the process on "null" before "{}".
@pytest.mark.parametrize(
    "texts",
    [
        ["null", None, "{}"],
        [OURS.text() * 2, ""],
        ["", OURS.text() * 2],
        ['{"a":', "{}}", OURS.text() * 2],
    ],
    ids=["null first", "two and none", "none and two", "one over two texts"],
)
def test_objects_are_not_counted_across_texts(texts: list[str]) -> None:
    assert known(texts) == [None] * len(texts)
