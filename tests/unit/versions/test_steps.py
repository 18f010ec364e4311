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


def test_tags_alone_move_no_file() -> None:
    found = steps([Entry("a", "v", "x")], [Entry("a", "v", "y")])
    assert found == Steps((), (), (), (), ("a",))
