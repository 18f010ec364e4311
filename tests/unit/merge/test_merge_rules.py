"""What a merge decides of its batch: the right answers, and the same on targets without Python."""

from __future__ import annotations

import itertools
import json
from dataclasses import fields, replace
from typing import Any

import pytest
from support.rendered import Macros, Node, Relation, columns

from alluvium.plan.merge import batch
from alluvium.plan.merge.figures import BatchFigures, Merged, MergeFigures, merge_line
from alluvium.plan.merge.outline import MergeSettings, Outline
from alluvium.plan.merge.profile import BatchProfile
from alluvium.plan.ranges.locate import Kept


@pytest.fixture(scope="module")
def macros() -> Macros:
    return Macros()


def settings_of(macros: Macros, meta: dict[str, Any]) -> tuple[Any, MergeSettings]:
    """The settings as Jinja has them, and as Python does."""
    found = macros.merge_settings(Node(meta))
    return found, MergeSettings.read(found)


CONTROLS = ["_batch_through", "_batch_after"]


def row(fate: str, **figures: Any) -> tuple[str, str]:
    return fate, json.dumps(figures)


ROWS = {
    "empty": [],
    "merged": [row("merged", events=5, key_count=3, deletes=1, lo="1", hi="9", _batch_through=7)],
    "all": [
        row(
            "merged", events=5, key_count=3, tied=2, incomplete=3, _batch_through=7, _batch_after=3
        ),
        row("null_key", events=2, incomplete=1, _batch_through=9, _batch_after=4),
        row("rejected", events=4, incomplete=4, _batch_through=8, _batch_after=2),
    ],
    "rejected": [row("rejected", events=4, _batch_through=8, _batch_after=2)],
}


@pytest.mark.parametrize("case", ROWS)
def test_the_figures_of_a_batch(macros: Macros, case: str) -> None:
    found = BatchProfile.read(ROWS[case])
    stock = macros.merge_profile(ROWS[case], CONTROLS)
    assert found.through == stock["_batch_through"]
    assert found.after == stock["_batch_after"]
    assert {name: stock[name] for name in found.as_mapping()} == found.as_mapping()
    if case == "all":
        assert (found.events, found.null_keys, found.rejects) == (5, 2, 4)
        assert (found.through, found.after, found.incomplete) == (9, 2, 4)


def jinja(profile: BatchProfile) -> dict[str, Any]:
    return {
        **profile.as_mapping(), "_batch_through": profile.through, "_batch_after": profile.after
    }  # fmt: skip


START = "the staged batch starts after event batch"


@pytest.mark.parametrize(
    ("meta", "profile", "progress", "says"),
    [
        ({}, BatchProfile(events=5, key_count=5), -1, None),
        ({}, BatchProfile(events=5, key_count=3), -1, "5 events for 3 keys, and nothing says"),
        ({"on_match": "ignore"}, BatchProfile(events=5, key_count=3), -1, None),
        ({"order_by": "v"}, BatchProfile(events=5, key_count=3), -1, None),
        ({}, BatchProfile(events=1, key_count=1, after=3), 3, None),
        ({}, BatchProfile(events=1, key_count=1, after=2), 3, None),
        ({}, BatchProfile(events=1, key_count=1, after=4), 3, f"{START} 4, but the table holds"),
        ({}, BatchProfile(events=1, key_count=1, after=0), -1, "the table holds none yet"),
        ({}, BatchProfile(after=4), 3, None),
        (
            {"null_keys": "insert"},
            BatchProfile(null_keys=1, after=2),
            3,
            "would add events without a key once more",
        ),
        ({"null_keys": "insert"}, BatchProfile(null_keys=1, after=3), 3, None),
        ({"null_keys": "insert"}, BatchProfile(events=1, key_count=1, after=2), 3, None),
    ],
)
def test_a_batch_that_cannot_be_merged(
    macros: Macros, meta: dict[str, Any], profile: BatchProfile, progress: int, says: str | None
) -> None:
    stock, settings = settings_of(macros, meta)
    found = batch.batch_mistake(settings, profile, progress)
    assert found == macros.batch_mistake(stock, jinja(profile), progress)
    assert (found is None) == (says is None)
    assert says is None or says in (found or "")


def test_what_is_pending(macros: Macros) -> None:
    for events, odd, through, progress in itertools.product(
        (0, 2), (0, 1), (None, 3, 4, 5), (-1, 4)
    ):
        profile = BatchProfile(events=events, key_count=events, null_keys=odd, through=through)
        further = through is not None and through > progress
        wanted = (events > 0 and (through is None or further)) or (odd > 0 and further)
        assert batch.is_pending(profile, progress) == wanted
        assert macros.is_pending(jinja(profile), progress) == wanted


PLANNED = [{"lo": "1", "hi": "2"}]
PRICED_OUT = [{"lo": None, "hi": None}]


@pytest.mark.parametrize("method", ["none", "min_max", "gaps", "kmeans", "cover", None])
@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("lo", [None, "1"])
def test_where_ranges_come_from(
    macros: Macros, method: str | None, is_new: bool, lo: str | None
) -> None:
    ranges = {"ranges": {"column": "at", "method": method}} if method else {}
    stock, settings = settings_of(macros, ranges)
    profile = BatchProfile(events=3, key_count=3, bounds={"lo": lo, "hi": lo})
    wanted = "min_max" if is_new or method == "min_max" else "gaps"
    if method in ("none", None) or lo is None:
        wanted = "none"
    assert batch.range_choice(settings, profile, [], is_new) == wanted
    assert macros.range_choice(stock, jinja(profile), is_new) == wanted
    if wanted != "none":
        outside = replace(profile, outside=1)
        assert batch.range_choice(settings, profile, PLANNED, is_new) == "planned"
        assert batch.range_choice(settings, outside, PLANNED, is_new) == "min_max"
        assert batch.range_choice(settings, profile, PRICED_OUT, is_new) == "none"
        assert batch.outside_warning(settings, outside) == (
            "1 events lie outside the planned ranges of the merge, which belong to another batch:"
            " using min_max"
        )


def test_what_the_order_s_type_loses(macros: Macros) -> None:
    stock, settings = settings_of(macros, {"order_by": ["at", "n"]})
    order = {"at": {"name": "__alluvium_order0"}}
    stock["stored_order"] = order
    types, given = {"at": "date", "n": "int"}, {"at": "timestamp", "n": "int"}
    outline = Outline(replace(settings, stored_order=order), types, given)
    assert batch.order_warning(outline, BatchProfile()) is None
    for blurred in (1, 2000):
        profile = BatchProfile(blurred=blurred)
        found = batch.order_warning(outline, profile)
        assert found == macros.order_warning(stock, jinja(profile), types, given)
        assert found is not None
        assert "at is timestamp in the batch and date in the table" in found


@pytest.mark.parametrize("rejected", [1, 2000])
def test_a_batch_of_rejected_events_alone(macros: Macros, rejected: int) -> None:
    found = batch.rejected_warning(rejected, "orders__rejected")
    assert found == macros.rejected_warning(rejected, "orders__rejected")
    assert f"{rejected:,} event" in found


@pytest.mark.parametrize("missed", [0, 1, 2])
def test_keys_outside_of_their_ranges(macros: Macros, missed: int) -> None:
    stock, settings = settings_of(macros, {"ranges": {"column": "at"}})
    found = batch.verify_mistake(settings, missed, '{"id":1}')
    assert found == macros.verify_mistake(stock, missed, '{"id":1}')
    assert (found is None) == (missed == 0)
    if missed == 1:
        assert found is not None
        assert found.startswith(
            "1 row of the table whose key is in the batch lies outside its ranges, for example"
            ' {"id":1}. at: not immutable for its key, so nothing was merged.'
        )


def test_settings_are_read_whole(macros: Macros) -> None:
    """A setting that the macro gains is one that Python has to know."""
    found, settings = settings_of(macros, {"ranges": {"column": ["a", "b"], "method": "auto"}})
    assert set(found) == {one.name for one in fields(MergeSettings)}
    assert settings.ranges is not None
    assert set(found["ranges"]) == {one.name for one in fields(settings.ranges)}


@pytest.mark.parametrize("null_keys", ["reject", "insert", "match"])
def test_both_get_the_same_texts(macros: Macros, null_keys: str) -> None:
    """Jinja hands the macros mappings, Python what it has made of them."""
    meta = {
        "order_by": "lsn", "delete_when": "op = 'd'", "reject_by": "why", "null_keys": null_keys,
        "keep_by": "lacked", "verify": True, "ranges": {"column": "at", "method": "gaps"},
    }  # fmt: skip
    node = Node(meta)
    macros.know(node)
    table = {
        "columns": columns(
            id="int", lsn="date", op="string", at="timestamp", V="string",
            lacked="array<string>", _deleted="boolean",
        ),
        "partitions": [], "made": {}, "padded": [], "limits": {}, "id": "t-1",
    }  # fmt: skip
    given = columns(
        id="bigint", lsn="timestamp", op="string", at="timestamp", why="string", V="string",
        lacked="array<string>", _batch_through="bigint",
    )  # fmt: skip
    target = Relation("items")
    found = macros.merge_outline(node, target, table, given)
    assert found["mistakes"] == found["warnings"] == []
    outline = Outline.read({key: value for key, value in found.items() if key != "name"})
    assert set(outline.stored_keys) == {"id"}
    assert set(outline.settings.stored_order) == {"lsn"}
    looks = [macros.merge_look("batch", one, []) for one in (found, outline)]
    assert looks[0] == looks[1]
    assert "__alluvium_reason" in looks[0]["profile"]
    assert (looks[0]["gaps"] is None) == (null_keys == "match")
    profile = BatchProfile(
        events=3, key_count=2, null_keys=1, rejects=1, bounds={"lo": "5", "hi": "9"}
    )
    lacked = [{"name": "v", "example": "v", "is_known": True, "has_value": False}]
    kept = [macros.kept_columns(one, lacked) for one in (found, outline)]
    assert kept == [{"columns": ["V"], "mistakes": []}] * 2
    texts = [
        macros.merge_texts(
            node,
            target,
            "batch",
            one,
            profile.as_mapping(),
            [profile.bounds],
            "min_max",
            kept=["V"],
        )
        for one in ([found, outline] if null_keys != "match" else [])
    ]
    for one in texts:
        assert one == texts[0]
        assert "merge into items as" in one["statement"]
        # One statement makes the table; each kind of event that is kept has one.
        assert len(one["rejected"]) == (3 if null_keys == "reject" else 2)
        assert one["rejected_table"] == "items__rejected"
        assert one["prune"] == one["predicate"].replace("DBT_INTERNAL_DEST.", "")
        assert "1970-01-01 00:00:00.000005" in one["prune"]
        assert one["verify"] is not None


BATCH = BatchFigures(
    model="model.shop.flights", through=7, events=18204, key_count=18204, deletes=293,
    newest_event=None, on_match="update", method="kmeans", ranges=3, rejected=0,
)  # fmt: skip
MERGED = Merged(updated=18204, kept=Kept(12, 512, 10, 900))
DONE = MergeFigures(BATCH, MERGED, seconds=3.14)
NO_RANGES = {"method": "none"}
NO_FILES = {"kept": None}
WAITED = "newest arrival 2024-01-01 10:00:00 UTC (2 days ago)"
UP_TO_DATE = {"freshness": WAITED, "waiting_batches": 0}


@pytest.mark.parametrize(
    ("of_batch", "of_merge", "line"),
    [
        (
            {},
            {},
            "18,204 events → 3 ranges (kmeans) → 12 of 512 files (2.3 %)"
            " → 17,911 upserts, 293 deletes in 3.1 s",
        ),
        (
            {"deletes": 0},
            {"kept": Kept(12, 512, 10, 900, skipped=1030)},
            "18,204 events → 3 ranges (kmeans) → 12 of 512 files (2.3 %, 1,030 fewer by automata)"
            " → 18,204 upserts in 3.1 s",
        ),
        (
            NO_RANGES,
            NO_FILES | {"updated": 18200},
            "18,204 events → 17,911 upserts, 293 deletes, 4 of them without effect in 3.1 s",
        ),
        (
            {"on_match": "ignore", "ranges": 1},
            {"updated": 0, "inserted": 1},
            "18,204 events → 1 range (kmeans) → 12 of 512 files (2.3 %)"
            " → 1 insert, 18,203 known in 3.1 s",
        ),
        (
            NO_RANGES | {"events": 71, "key_count": 71, "deletes": 2, "rejected": 3},
            NO_FILES | {"updated": 0, "rejected_table": "flights__rejected"},
            "71 events → nothing changed (71 older events),"
            " 3 rejected (kept in flights__rejected) in 3.1 s",
        ),
        (NO_RANGES | {"deletes": 0}, NO_FILES, "18,204 events → 18,204 upserts in 3.1 s"),
        (
            NO_RANGES | {"newest_event": "2024-01-01 10:00:00.500000"},
            NO_FILES,
            "18,204 events → 17,911 upserts, 293 deletes in 3.1 s,"
            " newest event 2024-01-01 10:00:00 UTC",
        ),
        ({"events": 0}, {"merged": None}, "nothing new in 3.1 s"),
        (
            {"events": 0},
            {"merged": None, "freshness": UP_TO_DATE},
            f"up to date in 3.1 s, {WAITED}",
        ),
        (
            NO_RANGES | {"rejected": 1200},
            NO_FILES
            | {"conflicts": 1, "already_merged": True, "updated": 0, "rejected_table": "r"},
            "18,204 events → already merged, 1,200 rejected (kept in r) in 3.1 s, after 1 conflict",
        ),
        (
            NO_RANGES | {"events": 0, "key_count": 0},
            NO_FILES | {"conflicts": 2, "updated": 0},
            "0 events → nothing changed in 3.1 s, after 2 conflicts",
        ),
    ],
)
def test_the_console_s_line(
    macros: Macros, of_batch: dict[str, Any], of_merge: dict[str, Any], line: str
) -> None:
    of_all = {name: of_merge[name] for name in of_merge if hasattr(DONE, name)}
    merged = replace(MERGED, **{name: of_merge[name] for name in of_merge.keys() - of_all.keys()})
    done = replace(DONE, **{"batch": replace(BATCH, **of_batch), "merged": merged} | of_all)
    assert merge_line("flights", done) == f"flights: {line}"
    # A stock target neither sees files, nor tries again, nor knows what waits.
    did = done.did
    if did.kept is None and not did.conflicts and not done.freshness:
        stock = done.batch.metadata() | {
            "affected": did.affected, "seconds": done.seconds,
            "is_pending": done.merged is not None,
            "rejected_table": done.rejected_table,
        }  # fmt: skip
        assert macros.merge_line("flights", stock) == f"flights: {line}"


def test_metadata_has_the_keys_that_tables_have(macros: Macros) -> None:
    profile = {"events": 1, "key_count": 1, "deletes": 0, "rejects": 0, "null_keys": 0}
    plan = {
        "through": 7, "profile": profile, "newest_event": None, "method": "none", "ranges": [],
        "settings": macros.merge_settings(Node({})),
    }  # fmt: skip
    stock = macros.merge_figures("model.shop.flights", plan)
    assert set(BATCH.metadata()) == set(stock)
