"""What a run does with Kafka's topics, beside what was read: each of the bad days."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.topics import (
    Known,
    Look,
    Offsets,
    Partition,
    Step,
    Topic,
    decide,
    label,
    moved,
    standing,
)


def topic(*partitions: tuple[int, int, int], id: str | None = "1") -> Topic:
    """First offset, committed end and end of each partition."""
    return Topic(id, {str(number): Partition(*of) for number, of in enumerate(partitions)})


def plan(
    read: Offsets | None,
    look: Look,
    *,
    accepts: bool = False,
    planned: Offsets | None = None,
    ids: dict[str, str] | None = None,
    partitions: dict[str, int] | None = None,
    made: dict[str, int] | None = None,
) -> Step:
    known = Known(read, planned, ids or {}, partitions or {}, made or {})
    return decide(known, look, ["a", "b"], "events", accepts)


def test_nothing_to_do() -> None:
    assert plan(None, {"a": topic((5, 9, 9))}) == Step()
    assert plan({"a": {"0": 7}}, {"a": topic((5, 9, 9))}, ids={"a": "1"}) == Step()
    assert plan({"a": {"0": 9}}, {"a": topic((9, 9, 9))}) == Step()


def test_an_open_transaction() -> None:
    look = {"a": topic((0, 5, 9))}
    assert plan({"a": {"0": 5}}, look) == Step()
    assert plan({"a": {"0": 6}}, look) == Step(waits=True)
    # A micro-batch that was planned beyond it would wait for its records, and fail.
    assert plan({"a": {"0": 3}}, look, planned={"a": {"0": 6}}).waits
    assert standing({"a": {"0": 5}}, look, {"a": 2}) == ({"a#2-0": 4}, {"a#2-0": 5})


def test_records_that_were_deleted() -> None:
    look = {"a": topic((5, 9, 9), (3, 9, 9))}
    read = {"a": {"0": 2, "1": 3}}
    [why] = plan(read, look).stops
    assert why.startswith(
        "records were deleted before they were read: a-0: offset 2 was next, the first there is 5, "
        "3 lost. Accepted: --vars 'alluvium_accept_loss: events'"
    )
    step = plan(read, look, accepts=True)
    assert (step.stops, step.lost, step.start) == ((), {"a-0": (2, 5)}, {"a": {"0": 5}})
    assert moved({"a": {"0": 4, "1": 8}}, step, {}) == {"a": {"0": 5, "1": 8}}


def test_a_topic_made_again() -> None:
    read = {"a": {"0": 30}, "b": {"0": 1}}
    b = topic((0, 1, 1), id="2")
    for look, ids, why in (
        (topic((0, 80, 80), id="3"), {"a": "1"}, "made again since it was read, or of another"),
        (topic((0, 6, 6)), {}, "cut off, for partition 0 ends at offset 6, and 30 was next"),
        (topic(id=None), {"a": "1"}, "made again since it was read, for it has no partition 0"),
    ):
        [told] = plan(read, {"a": look, "b": b}, ids=ids).stops
        assert told.startswith("a: made again since it was read")
        assert why in told
        assert "reads it from its start as a#2" in told
        step = plan(read, {"a": look, "b": b}, ids=ids, accepts=True)
        assert (step.stops, step.again) == ((), ("a",))
        assert moved(read, step, {}) == {"b": {"0": 1}} | step.start
    # More than were read, and nobody noted which topic it was: nobody can know.
    assert plan(read, {"a": topic((0, 80, 80), id="3"), "b": b}) == Step()
    [told] = plan(read, {"a": topic((0, 9, 9), id="3"), "b": b}, made={"a": 4}).stops
    assert "as a#5" in told


def test_a_topic_that_is_gone() -> None:
    assert plan({"b": {"0": 0}}, {"b": topic((0, 0, 0))}) == Step()
    for read, planned in (({"a": {"0": 0}}, None), ({}, {"a": {"0": 0}})):
        [told] = plan(read, {}, planned=planned, accepts=True).stops
        assert "a: was there before, and is gone" in told


def test_what_is_new() -> None:
    two = {"a": topic((0, 5, 5), (0, 1, 1))}
    [told] = plan({"a": {"0": 3}}, two).warnings
    assert told.startswith("a-1: new, and read from the start.")
    assert plan({"a": {"0": 3}}, two, partitions={"a": 2}).warnings == ()
    assert plan({"a": {"0": 3}}, two, partitions={"a": 1}).warnings == (told,)
    assert plan({}, two).warnings == ()
    [told] = plan({"a": {"0": 5, "1": 0}}, two | {"b": topic((0, 0, 0))}).warnings
    assert told.startswith("b: new")
    # A new topic begins where it begins; of a new partition, or one that was seen, all is wanted.
    step = plan({"a": {"0": 5, "1": 0}}, two | {"b": topic((7, 9, 9))})
    assert (step.stops, step.start) == ((), {"b": {"0": 7}})
    assert plan({"a": {"0": 5}}, {"a": topic((0, 5, 5), (2, 3, 3))}).stops
    # A micro-batch that was planned before it reads none of it.
    step = plan({"a": {"0": 3}}, two, planned={"a": {"0": 5}})
    assert moved({"a": {"0": 5}}, step, {"a": {"0": 3}}) == {"a": {"0": 5, "1": 0}}
    assert plan(
        {"a": {"0": 5}}, {"a": topic((0, 5, 5)), "b": topic((7, 9, 9))}, ids={"b": "1"}
    ).stops


OFFSET = st.integers(0, 6)
PARTITION = st.tuples(OFFSET, OFFSET, OFFSET).map(lambda of: Partition(*sorted(of)))
TOPIC = st.builds(
    Topic,
    st.sampled_from(["1", "2", None]),
    st.lists(PARTITION, min_size=1, max_size=3).map(
        lambda of: {str(number): one for number, one in enumerate(of)}
    ),
)
NUMBERS = st.lists(OFFSET, min_size=1, max_size=3).map(
    lambda ends: {str(number): end for number, end in enumerate(ends)}
)
OFFSETS = st.dictionaries(st.sampled_from("ab"), NUMBERS)
KNOWN = st.builds(
    Known,
    OFFSETS,
    st.none() | OFFSETS,
    st.dictionaries(st.sampled_from("ab"), st.sampled_from("12")),
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 3)),
    st.dictionaries(st.sampled_from("ab"), st.integers(2, 3)),
)


@given(KNOWN, st.dictionaries(st.sampled_from("ab"), TOPIC), st.booleans())
def test_no_offset_is_skipped_in_silence(known: Known, look: Look, accepts: bool) -> None:
    """What Spark goes on from leaves nothing out that is not told, and nothing that it refuses."""
    step = decide(known, look, ["a", "b"], "events", accepts)
    if step.stops or step.waits:
        return
    assert accepts or not (step.lost or step.again)
    read = known.read or {}
    begin, end = moved(read, step, {}), moved(known.planned or {}, step, read)
    if known.planned is not None:
        # Spark refuses to run it again with other partitions than there are.
        there = {name: set(seen.partitions) for name, seen in look.items()}
        assert {name: set(of) for name, of in end.items()} == there
    for name, seen in look.items():
        for number, of in seen.partitions.items():
            place = f"{label(name, known.made)}-{number}"
            next = begin.get(name, {}).get(number, 0)
            # To Spark all else is lost data.
            assert of.first <= next <= of.end
            assert next <= end.get(name, {}).get(number, next) <= of.end
            if name in step.again:
                assert next == of.first
            elif name in read:
                wanted = read[name].get(number, 0)
                assert (place in step.lost) == (next > wanted)
                assert step.lost.get(place, (wanted, next)) == (wanted, next)
            elif name in known.ids:
                assert step.lost.get(place, (0, next)) == (0, next)
    assert set(read) & {"a", "b"} <= set(look)
