"""From one state of files to another: what goes, what comes, and what only moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.versions.steps import Entry, Move, Steps, steps

_PATHS = st.sampled_from([f"file:/t/{name}.parquet" for name in "abcdef"])
_STATES = st.dictionaries(
    _PATHS, st.tuples(st.sampled_from(["", "v1", "v2"]), st.sampled_from(["x", "y"])), max_size=6
)


def entries(state: dict[str, tuple[str, str]]) -> list[Entry]:
    return [Entry(path, vector, label) for path, (vector, label) in state.items()]


@given(_STATES, _STATES, st.lists(st.tuples(_STATES, _STATES), max_size=3))
def test_steps_lead_from_one_state_to_the_other(
    before: dict[str, tuple[str, str]],
    after: dict[str, tuple[str, str]],
    compactions: list[tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]],
) -> None:
    moves = [
        Move(*({path: vector for path, (vector, _) in state.items()} for state in pair))
        for pair in compactions
    ]
    found = steps(entries(before), entries(after), moves)

    state = dict(before)
    for path in (*found.moved_out, *found.goes):
        del state[path]
    for path in (*found.moved_in, *found.comes):
        assert path not in state
        state[path] = after[path]
    for path in found.relabelled:
        state[path] = after[path]
    assert state == after
    # What both have in the same way is not touched, and may be left out.
    same = before.items() & after.items()
    assert not {path for path, _ in same} & {path for paths in _each(found) for path in paths}
    fewer = [dict(state.items() - same) for state in (before, after)]
    assert steps(*map(entries, fewer), moves) == found


def _each(found: Steps) -> list[tuple[str, ...]]:
    return [found.goes, found.comes, found.moved_out, found.moved_in, found.relabelled]


def test_a_compaction_moves_rows() -> None:
    before = [Entry("a", "", "x"), Entry("b", "v1", "x"), Entry("c", "", "x")]
    after = [Entry("d", "", "x"), Entry("c", "v2", "x")]
    move = Move({"a": "", "b": "v1"}, {"d": ""})
    assert steps(before, after, [move]) == Steps(("c",), ("c",), ("a", "b"), ("d",), ())
    # It read another vector of a file, or what it wrote was changed later: rows changed too.
    for other in (Move({"a": "", "b": "v2"}, {"d": ""}), Move({"a": "", "b": "v1"}, {"d": "v9"})):
        assert steps(before, after, [other]) == Steps(("a", "b", "c"), ("c", "d"), (), (), ())
    # What it wrote was compacted again, or deleted.
    assert steps(before, after, [Move({"a": ""}, {"d": "", "e": ""})]).moved_in == ()


def test_compactions_of_compactions_move_rows() -> None:
    before = [Entry(path, "", "x") for path in "abc"]
    first, second = (
        Move({"a": "", "b": ""}, {"d": "", "e": ""}),
        Move({"d": "", "c": ""}, {"f": ""}),
    )
    after = [Entry("e", "", "x"), Entry("f", "", "x")]
    moved = Steps((), (), ("a", "b", "c"), ("e", "f"), ())
    assert steps(before, after, [first, second]) == moved
    # The way back.
    assert steps(after, before, undone=[first, second]) == Steps(
        (), (), moved.moved_in, moved.moved_out, ()
    )
    # A row of `d` was deleted between.
    second = Move({"d": "v1", "c": ""}, {"f": ""})
    assert steps(before, after, [first, second]).moved_in == ()
    # What was written before the first state does not count.
    older = Move({"x": ""}, {"a": "", "y": ""})
    assert steps(before, [Entry("d", "", "x")], [older, Move({"a": ""}, {"d": ""})]) == Steps(
        ("b", "c"), (), ("a",), ("d",), ()
    )
    # No file is read twice.
    twice = [Move({"a": ""}, {"d": ""}), Move({"a": "", "b": ""}, {"e": ""})]
    found = steps(before, [Entry("d", "", "x"), Entry("e", "", "x")], twice)
    assert found == Steps(("c",), ("d",), ("a", "b"), ("e",), ())


@given(st.data())
def test_rows_stay_where_compactions_moved_them(data: st.DataObject) -> None:
    """A history of files that hold rows: what is left over of both ends holds what differs."""
    live = {f"f{number}": frozenset({number}) for number in range(4)}
    names = (f"g{number}" for number in range(99))
    states, moves = [dict(live)], list[tuple[int, Move]]()
    for turn in range(data.draw(st.integers(1, 6))):
        some = data.draw(st.lists(st.sampled_from(sorted(live)), unique=True, max_size=3))
        rows = sorted(row for path in some for row in live[path])
        for path in some:
            del live[path]
        if data.draw(st.booleans()):
            rows = [row + 100 for row in rows] or [1000 + turn]
            live[next(names)] = frozenset(rows)
        elif some:
            cut = data.draw(st.integers(0, len(rows)))
            wrote = {next(names): frozenset(part) for part in (rows[:cut], rows[cut:]) if part}
            live |= wrote
            moves.append((turn, Move(dict.fromkeys(some, ""), dict.fromkeys(wrote, ""))))
        states.append(dict(live))
    first = data.draw(st.integers(0, len(states) - 1))
    before, after = states[first], states[-1]
    between = [move for turn, move in moves if turn >= first]
    every = {path: rows for state in states for path, rows in state.items()}

    def rows_of(paths: tuple[str, ...]) -> list[int]:
        return sorted(row for path in paths for row in every[path])

    ends = [[Entry(path, "", "") for path in state] for state in (before, after)]
    # Those of before the first state are of no harm.
    for given_moves in (between, [move for _, move in moves]):
        for found in (
            steps(*ends, given_moves),
            steps(*reversed(ends), undone=given_moves),
        ):
            assert rows_of(found.moved_out) == rows_of(found.moved_in)
    if len(between) == len(states) - 1 - first:
        assert steps(*ends, between).goes == ()


def test_tags_alone_move_no_file() -> None:
    found = steps([Entry("a", "v", "x")], [Entry("a", "v", "y")])
    assert found == Steps((), (), (), (), ("a",))
