"""What commits did to blocks, and totals carried on: beside a state kept as plain dictionaries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.versions.snapshots import (
    ACTIONS,
    BLOCKS,
    SIZES,
    State,
    Totals,
    follow,
    live_before,
)


def action(version: int, path: str, is_add: bool, **more: Any) -> dict[str, Any]:
    found = {"rows": 10, "deleted": 0, "bytes": 100, "is_change": True, "is_older": False}
    return {"version": version, "path": path, "is_add": is_add} | found | more


def run(
    actions: list[dict[str, Any]],
    versions: list[int],
    sizes: dict[str, tuple[int | None, int | None]] | None = None,
    before: State | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    opened = [
        {"path": path, "rows": rows, "bytes_uncompressed": plain}
        for path, (rows, plain) in (sizes or {}).items()
    ]
    changes, totals = follow(
        before or State(),
        versions,
        pa.Table.from_pylist(actions, ACTIONS),
        pa.Table.from_pylist(opened, SIZES),
    )
    return changes.to_pylist(), totals.to_pylist()


def test_nothing() -> None:
    assert run([], []) == ([], [])
    changes, [total] = run([], [7])
    assert changes == []
    assert {total.pop("version"), *total.values()} == {7, 0}


def test_a_block_comes_changes_and_goes() -> None:
    changes, totals = run(
        [
            action(1, "a", True),
            action(2, "a", False),
            action(2, "a", True, deleted=3),
            action(4, "a", False, deleted=3),
        ],
        [0, 1, 2, 3, 4],
        {"a": (10, 250)},
    )
    assert [(one["version"], one["segment"], one["blocks"]) for one in changes] == [
        (1, 1, 1),
        (2, 1, 0),
        (4, 1, -1),
    ]
    assert [one["row_count"] for one in changes] == [10, -3, -7]
    assert [one["deleted_rows"] for one in changes] == [0, 3, -3]
    assert [one["bytes_uncompressed"] for one in changes] == [250, 0, -250]
    assert [one["row_count"] for one in totals] == [0, 10, 7, 7, 0]
    assert [one["segments"] for one in totals] == [0, 1, 1, 1, 0]
    assert [(one["rows_added"], one["rows_removed"]) for one in totals] == [
        (0, 0),
        (10, 0),
        (0, 3),
        (0, 0),
        (0, 7),
    ]


def test_rows_that_only_move_are_neither_added_nor_removed() -> None:
    moved = {"is_change": False}
    _, totals = run(
        [
            action(1, "a", True),
            action(1, "b", True),
            action(2, "a", False, **moved),
            action(2, "b", False, **moved),
            action(2, "c", True, rows=20, **moved),
        ],
        [1, 2],
    )
    assert (totals[1]["rows_added"], totals[1]["rows_removed"]) == (0, 0)
    assert (totals[1]["blocks_added"], totals[1]["blocks_removed"]) == (1, 2)
    assert (totals[1]["blocks"], totals[1]["row_count"], totals[1]["segments"]) == (1, 20, 1)


def test_a_new_label_keeps_the_segment() -> None:
    changes, totals = run(
        [action(1, "a", True), action(2, "a", True, is_change=False), action(3, "a", False)],
        [1, 2, 3],
    )
    assert [one["segment"] for one in changes] == [1, 1, 1]
    assert [one["blocks"] for one in totals] == [1, 1, 0]


def test_a_block_that_comes_back_is_of_a_new_segment() -> None:
    changes, totals = run(
        [action(1, "a", True), action(2, "a", False), action(3, "a", True)], [1, 2, 3]
    )
    assert [one["segment"] for one in changes] == [1, 1, 3]
    assert [one["segments"] for one in totals] == [1, 0, 1]


def test_unknown_figures_are_counted_as_long_as_the_block_lives() -> None:
    """A file without a row count gets it from its footer; one that is gone has neither."""
    changes, totals = run(
        [
            action(1, "a", True, rows=None),
            action(1, "b", True, rows=None),
            action(2, "a", False, rows=None),
        ],
        [1, 2],
        {"a": (None, None), "b": (5, 80)},
    )
    assert [one["row_count"] for one in changes] == [None, None, 5]
    assert [(one["uncounted"], one["unsized"]) for one in totals] == [(1, 1), (0, 0)]
    assert [(one["row_count"], one["bytes_uncompressed"]) for one in totals] == [(5, 80), (5, 80)]
    assert [one["rows_added"] for one in totals] == [None, 0]


def test_a_removal_of_what_never_was_changes_nothing() -> None:
    changes, [total] = run([action(1, "a", False)], [1])
    assert changes == []
    assert total["blocks"] == total["blocks_removed"] == 0


def test_blocks_of_a_checkpoint_are_of_no_segment_that_is_known() -> None:
    changes, totals = run(
        [action(5, "a", True, is_older=True), action(5, "b", True), action(6, "a", False)], [5, 6]
    )
    assert [one["segment"] for one in changes] == [None, None, 5]
    assert [one["segments"] for one in totals] == [2, 1]


def test_commits_tell_what_was_there_before_them() -> None:
    """What they take, and what they only give new labels; not what one of them brought."""
    moved = {"is_change": False}
    actions = [
        action(3, "taken", False, rows=7, deleted=2),
        action(3, "new", True),
        action(4, "marked", False, deleted=1),
        action(4, "marked", True, deleted=4),
        action(5, "labelled", True, **moved),
        action(5, "new", True, **moved),
        action(6, "new", False),
        action(6, "labelled", False, **moved),
        action(6, "merged", True, rows=20, **moved),
    ]
    found = live_before(pa.Table.from_pylist(actions, ACTIONS)).to_pylist()
    assert {one["path"]: (one["rows"], one["deleted"]) for one in found} == {
        "taken": (7, 2),
        "marked": (10, 1),
        "labelled": (10, 0),
    }


Drawn = list[list[tuple[str, str]]]


SIZE = {path: (10 * n, 1000 * n) for n, path in enumerate("abcd", 1)}
CUTS = (0, 1, 2, 5)


@given(
    drawn=st.lists(
        st.lists(
            st.tuples(st.sampled_from("abcd"), st.sampled_from(["come", "mark", "go"])),
            max_size=4,
            unique_by=lambda one: one[0],
        ),
        min_size=1,
        max_size=8,
    )
)
def test_totals_are_those_of_the_live_blocks(drawn: Drawn) -> None:
    """Whether one run sees all commits, or one goes on from where another ended."""
    live: dict[str, dict[str, int]] = {}
    actions, expected = [], []
    states = [dict(live)]
    for version, commit in enumerate(drawn):
        for path, what in commit:
            rows = {"rows": SIZE[path][0], "bytes": SIZE[path][0] * 7}
            if what == "come" and path not in live:
                live[path] = {"segment": version, "deleted": 0}
                actions.append(action(version, path, True, **rows))
            elif path in live and what == "mark":
                old = live[path]["deleted"]
                live[path] = live[path] | {"deleted": old + 1}
                actions.append(action(version, path, True, deleted=old + 1, **rows))
                actions.append(action(version, path, False, deleted=old, **rows))
            elif path in live and what == "go":
                actions.append(
                    action(version, path, False, deleted=live.pop(path)["deleted"], **rows)
                )
        states.append({path: dict(one) for path, one in live.items()})
        expected.append(totals_of(states[-1], SIZE))
    # After the last commit there is nothing to go on with: that is one run.
    for at in sorted({min(cut, len(drawn)) for cut in CUTS}):
        changes, found = in_two_runs(actions, len(drawn), at, states[at])
        names = asdict(Totals()).keys()
        assert [{name: one[name] for name in names} for one in found] == list(map(asdict, expected))
        # Sums of what is kept of each block are what is live.
        sums: dict[str, int] = {}
        for one in changes:
            sums[one["path"]] = sums.get(one["path"], 0) + one["row_count"]
        alive = {path: SIZE[path][0] - one["deleted"] for path, one in live.items()}
        assert {path: n for path, n in sums.items() if path in live} == alive
        assert not any(n for path, n in sums.items() if path not in live)


def in_two_runs(
    actions: list[dict[str, Any]], versions: int, at: int, state: dict[str, dict[str, int]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Changes and totals, where the second run begins at a version, with what is live then."""
    first = run([one for one in actions if one["version"] < at], list(range(at)), SIZE)
    later = [one for one in actions if one["version"] >= at]
    touched = {one["path"] for one in later}
    known = [
        {"path": path, "rows": SIZE[path][0], "bytes": SIZE[path][0] * 7}
        | {"bytes_uncompressed": SIZE[path][1]}
        | one
        for path, one in state.items()
        if path in touched
    ]
    segments = [one["segment"] for one in state.values()]
    before = State(
        totals_of(state, SIZE),
        pa.Table.from_pylist(known, BLOCKS),
        {one["segment"]: segments.count(one["segment"]) for one in known},
    )
    new = {path: one for path, one in SIZE.items() if path not in {one["path"] for one in known}}
    then = run(later, list(range(at, versions)), new, before)
    return first[0] + then[0], first[1] + then[1]


def totals_of(live: dict[str, dict[str, int]], size: dict[str, tuple[int, int]]) -> Totals:
    return Totals(
        segments=len({one["segment"] for one in live.values()}),
        blocks=len(live),
        row_count=sum(size[path][0] - one["deleted"] for path, one in live.items()),
        bytes=sum(size[path][0] * 7 for path in live),
        bytes_uncompressed=sum(size[path][1] for path in live),
    )


def test_many_actions_take_little_time() -> None:
    """Order of work, not seconds: a hundred thousand in one call."""
    paths = [f"{n:06}" for n in range(100_000)]
    versions = np.repeat(np.arange(10_000), 10)
    table = pa.table(
        {
            "version": versions,
            "path": paths,
            "is_add": [True] * 100_000,
            "rows": [1] * 100_000,
            "deleted": [0] * 100_000,
            "bytes": [1] * 100_000,
            "is_change": [True] * 100_000,
            "is_older": [False] * 100_000,
        }
    ).cast(ACTIONS)
    _, totals = follow(State(), list(range(10_000)), table, SIZES.empty_table())
    assert totals["blocks"].to_pylist() == list(range(10, 100_001, 10))
    assert totals["segments"].to_pylist() == list(range(1, 10_001))
