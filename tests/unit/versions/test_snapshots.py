"""What commits did to blocks, and what snapshots hold: beside plain dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from alluvium.plan.versions.commit import Commit
from alluvium.plan.versions.history import told
from alluvium.plan.versions.snapshots import (
    ACTIONS,
    BLOCKS,
    CHANGES,
    SIZES,
    follow,
    live,
    live_before,
)


def action(version: int, path: str, is_add: bool, **more: Any) -> dict[str, Any]:
    found = {"rows": 10, "deleted": 0, "bytes": 100, "is_change": True, "is_older": False}
    return {"version": version, "path": path, "is_add": is_add} | found | more


def run(
    actions: list[dict[str, Any]],
    versions: list[int],
    sizes: dict[str, tuple[int | None, int | None]] | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    opened = [
        {"path": path, "rows": rows, "bytes_uncompressed": plain}
        for path, (rows, plain) in (sizes or {}).items()
    ]
    changes, totals = follow(
        BLOCKS.empty_table(),
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


def test_a_removal_beside_another_vector() -> None:
    """Vacuum takes an old vector of a file that is live with a newer one."""
    actions = [
        action(1, "a", True, vector="v1"),
        action(2, "a", False, vector="v1"),
        action(2, "a", True, vector="v2"),
        action(3, "a", False, vector="v1", is_change=False),
        action(3, "b", False, vector="v1", is_change=False),
        action(4, "a", False, vector="v2"),
    ]
    _, totals = run(actions, [1, 2, 3, 4])
    assert [one["blocks"] for one in totals] == [1, 1, 1, 0]


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
    held = [(one["row_count"], one["bytes_uncompressed"]) for one in totals]
    assert held == [(None, None), (5, 80)]
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


def test_vectors_that_went_are_no_blocks() -> None:
    """A commit of vectors names what went before; a block may go in another one beside it."""
    operations = {4: "Deletion Vector Tombstones", 5: "DELETE"}
    commits = [Commit(at, [{"commitInfo": {"operation": one}}]) for at, one in operations.items()]
    actions = [
        action(4, "went before", False, deleted=3, is_change=False),
        action(4, "deletion_vector_1.bin", False, rows=None, is_change=False),
        action(5, "goes", False),
    ]
    vectors, deleted = told(commits, pa.Table.from_pylist(actions, ACTIONS), False)
    assert (vectors.rows, vectors.blocks) == ("", [])
    assert (deleted.rows, [one["path"] for one in deleted.blocks]) == ("+0 -10 rows", ["goes"])


Drawn = list[list[tuple[str, str]]]


SIZE = {path: (10 * n, 1000 * n) for n, path in enumerate("abcd", 1)}


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
    now: dict[str, dict[str, int]] = {}
    actions, expected = [], []
    for version, commit in enumerate(drawn):
        for path, what in commit:
            rows = {"rows": SIZE[path][0], "bytes": SIZE[path][0] * 7}
            if what == "come" and path not in now:
                now[path] = {"segment": version, "deleted": 0}
                actions.append(action(version, path, True, **rows))
            elif path in now and what == "mark":
                old = now[path]["deleted"]
                now[path] = now[path] | {"deleted": old + 1}
                actions.append(action(version, path, True, deleted=old + 1, **rows))
                actions.append(action(version, path, False, deleted=old, **rows))
            elif path in now and what == "go":
                actions.append(
                    action(version, path, False, deleted=now.pop(path)["deleted"], **rows)
                )
        expected.append(totals_of(now))
    changes, found = run(actions, list(range(len(drawn))), SIZE)
    assert [{name: one[name] for name in expected[0]} for one in found] == expected
    blocks = live(pa.Table.from_pylist(changes, CHANGES)).to_pylist()
    assert {one.pop("path"): one for one in blocks} == {
        path: one | {"rows": SIZE[path][0], "bytes": SIZE[path][0] * 7} for path, one in now.items()
    }


def totals_of(now: dict[str, dict[str, int]]) -> dict[str, int]:
    return {
        "segments": len({one["segment"] for one in now.values()}),
        "blocks": len(now),
        "row_count": sum(SIZE[path][0] - one["deleted"] for path, one in now.items()),
        "bytes": sum(SIZE[path][0] * 7 for path in now),
        "bytes_uncompressed": sum(SIZE[path][1] for path in now),
    }


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
            "vector": pa.nulls(100_000, pa.string()),
            "bytes": [1] * 100_000,
            "is_change": [True] * 100_000,
            "is_older": [False] * 100_000,
        }
    ).cast(ACTIONS)
    _, totals = follow(BLOCKS.empty_table(), list(range(10_000)), table, SIZES.empty_table())
    assert totals["blocks"].to_pylist() == list(range(10, 100_001, 10))
    assert totals["segments"].to_pylist() == list(range(1, 10_001))
