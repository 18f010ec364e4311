"""What a restore would undo, by what commits say of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from alluvium.marks import MERGE_FIGURES, MERGED_THROUGH, PURGE_NOTE, RESTORE_NOTE
from alluvium.plan.versions.undo import Done, WayBack, before_batch, kind_of, undone

MERGE, PURGE, RESTORE = (frozenset([one]) for one in (MERGE_FIGURES, PURGE_NOTE, RESTORE_NOTE))
MODEL = "model.shop.orders"


def done(
    version: int,
    operation: str = "MERGE",
    notes: frozenset[str] = frozenset(),
    author: str | None = None,
    batches: Mapping[str, int] = MappingProxyType({}),
    restored: int | None = None,
    **files: bool,
) -> Done:
    info: dict[str, Any] = {"operation": operation, "userName": author}
    info["userMetadata"] = json.dumps({one: {} for one in notes})
    info["operationParameters"] = {"version": str(restored)}
    txns = [
        {"txn": {"appId": f"{MERGED_THROUGH}{model}/id", "version": number}}
        for model, number in batches.items()
    ]
    did = {"changes_rows": True, "has_files": True, **files}
    return Done(version, [{"commitInfo": info}, *txns], **did)


def merged(version: int, batch: int) -> Done:
    return done(version, batches={MODEL: batch}, notes=MERGE)


def restored(version: int, to: int) -> Done:
    return done(version, "RESTORE", notes=RESTORE, restored=to, batches={MODEL: 1})


@pytest.mark.parametrize(
    ("commit", "kind"),
    [
        (merged(1, 17), "batch"),
        # Its events changed no row.
        (done(1, batches={MODEL: 17}, changes_rows=False, has_files=False), "batch"),
        (done(1, notes=MERGE), "backfill"),
        (done(1), "write"),
        (done(1, "DELETE"), "write"),
        (done(1, "DELETE", notes=PURGE), "purge"),
        (done(1, "RESTORE", restored=0), "write"),
        (restored(1, 0), "restore"),
        (done(1, "OPTIMIZE", changes_rows=False), "compaction"),
        (done(1, "COMPUTE STATS", changes_rows=False), "compaction"),
        (done(1, "ADD COLUMNS", changes_rows=False, has_files=False), "schema"),
        (done(1, "CREATE OR REPLACE TABLE AS SELECT"), "full refresh"),
        # A clone's, which copies it from its source.
        (
            done(1, "Manual Update", batches={MODEL: 3}, changes_rows=False, has_files=False),
            "progress",
        ),
    ],
)  # fmt: skip
def test_kinds(commit: Done, kind: str) -> None:
    assert kind_of(commit) == kind


def test_what_is_undone_is_not_undone_twice() -> None:
    commits = [merged(2, 16), merged(3, 17), done(4, "DELETE", author="ann"), restored(5, 2)]
    commits += [merged(6, 18), done(7, "OPTIMIZE", changes_rows=False)]
    assert [str(one) for one in undone(commits, 1)] == [
        "compaction (version 7)",
        "batch 18 (version 6)",
        "restore RESTORE (version 5)",
        "batch 16 (version 2)",
    ]
    assert [str(one) for one in undone(commits[:3], 2)] == [
        "write DELETE by ann (version 4)",
        "batch 17 (version 3)",
    ]
    assert undone([], 7) == []


def test_the_version_before_a_batch() -> None:
    commits = [done(0, "CREATE TABLE"), merged(1, 14), done(2, "DELETE"), merged(3, 18)]
    # One merge brought 15 to 18.
    assert {
        batch: before_batch(reversed(commits), MODEL, batch) for batch in (13, 14, 15, 18, 19)
    } == {
        13: 0,
        14: 0,
        15: 2,
        18: 2,
        19: None,
    }
    assert before_batch(reversed(commits), "model.shop.other", 15) is None
    # Gone back, and merged again.
    commits += [restored(4, 2), merged(5, 20)]
    assert before_batch(reversed(commits), MODEL, 18) == 4
    assert before_batch(reversed(commits[:5]), MODEL, 18) is None
    # A table that is made again begins again.
    commits += [done(6, "CREATE OR REPLACE TABLE"), merged(7, 20)]
    assert before_batch(reversed(commits), MODEL, 20) == 4


def test_no_more_commits_are_taken_than_are_asked_for() -> None:
    commits = iter([merged(9, 20), done(8), merged(7, 18), merged(6, 17), merged(5, 16)])
    assert before_batch(commits, MODEL, 18) == 6
    assert [one.version for one in commits] == [5]


@pytest.mark.parametrize(
    "began",
    [
        [done(0, "CLONE", batches={MODEL: 17})],
        [
            done(0, "CLONE"),
            done(1, "Manual Update", batches={MODEL: 17}, changes_rows=False, has_files=False),
        ],
    ],
)
def test_what_a_clone_began_with_is_no_batch_of_its_own(began: list[Done]) -> None:
    last = began[-1].version
    commits = [*began, merged(last + 1, 18), merged(last + 2, 20)]
    assert {
        batch: before_batch(reversed(commits), MODEL, batch) for batch in (17, 18, 19, 20, 21)
    } == {
        17: last,  # whose progress says that it is there
        18: last,
        19: last + 1,
        20: last + 1,
        21: None,
    }
    assert before_batch(reversed(began), MODEL, 17) is None


WAY = WayBack(
    then=4, undone=(), batch=None, came=2, named=(3, 4), mistakes=(), missing=()
)  # fmt: skip


def never(_: int) -> bool:
    return False


WRITES = undone([done(5, "UPDATE"), done(6, "DELETE", notes=PURGE), merged(7, 3)], 4)


@pytest.mark.parametrize(
    ("seen", "including"),
    [
        ({}, ()),
        ({"batch": 3}, ()),
        # Batches that came along are of no weight where a version is asked for.
        ({"came": 9}, ()),
        ({"batch": 3, "named": ()}, ()),
        ({"undone": WRITES}, ("purge", "write")),
    ],
)
def test_a_way_back_that_nothing_stops(seen: dict[str, Any], including: tuple[str, ...]) -> None:
    assert list(replace(WAY, **seen).refusals("t", including, never)) == []


def test_a_batch_that_the_first_merge_brought_with_others() -> None:
    way = replace(WAY, batch=1, came=-1)
    assert list(way.refusals("t", (), lambda batch: batch == 1)) == []


@pytest.mark.parametrize(
    ("seen", "including", "said"),
    [
        ({"batch": 2}, (), "t: no commit in its log brought batch 2 or a later one up to 2."),
        ({"batch": 0, "came": -1}, (), "t: no merge in its log is of batch 0, or of one before"),
        (
            {"undone": WRITES},
            ("write",),
            "going back to version 4 would undo what no build brings back: purge DELETE (version"
            " 6). Nothing was changed. Accepted: including: [purge, write], or another version",
        ),
        ({"mistakes": ("a", "b")}, (), "t cannot go back: a; b"),
        (
            {"missing": ("x.parquet",)},
            (),
            "t: version 4 needs 1 file that VACUUM deleted, such as x.parquet. Nothing was",
        ),
    ],
)
def test_what_stops_a_way_back(seen: dict[str, Any], including: tuple[str, ...], said: str) -> None:
    [why] = replace(WAY, **seen).refusals("t", including, never)
    assert why.startswith(said)


def test_all_that_stops_a_way_back_is_told() -> None:
    found = replace(WAY, batch=1, undone=WRITES, mistakes=("a",), missing=("b",)).refusals(
        "t", (), never
    )
    assert len(list(found)) == 4
