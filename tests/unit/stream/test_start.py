"""Where a run of a streaming table goes on, and how its batches are numbered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from unit.stream.local_files import LocalFiles

from alluvium.ingest import StreamError, Target, checkpoint, ledger, parse_spec, start
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.landing import Landed

FILES: Any = LocalFiles()
NOW = 1_000.0
PLACES = ("_value", "_source_partition", "_source_offset", "_batch_id")


@dataclass
class Table:
    """What a run asks of its table.

    Attributes:
        highest: Batch that its rows and its log tell of; 0 for none.
        apps: Streams that its log has commits of.
    """

    table_id: str = "t1"
    version: int = 3
    highest: int = 0
    apps: tuple[str, ...] = ()
    columns: tuple[str, ...] = PLACES


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoint")


def begin(
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    table: Table,
    *,
    existed: bool = True,
    full_refresh: bool = False,
    now: float = NOW,
) -> Checkpoint:
    """Where a run begins on this table."""
    log = SimpleNamespace(
        state=lambda *_: (table.table_id, dict.fromkeys(table.apps, 0)),
        version=lambda *_: table.version,
    )
    monkeypatch.setattr(start, "log", log)
    monkeypatch.setattr(start, "id_of", lambda *_: table.table_id)
    monkeypatch.setattr(start, "highest_batch", lambda *_: table.highest)
    session: Any = SimpleNamespace(table=lambda _: SimpleNamespace(columns=list(table.columns)))
    target = Target("bronze.events", root)
    return start.starting_place(session, FILES, target, existed, full_refresh, lambda: now)


def run(place: Checkpoint, commits: int) -> int:
    """Commits of a run that came to its end; the highest batch."""
    found = ledger.load(FILES, place.location)
    found.note(FILES, {}, {})
    for _ in range(commits):
        found.plan(FILES, [Landed(f"{found.epoch}.txt", "", 1, 0)])
        found.finish(FILES)
    checkpoint.save(FILES, place.settled())
    return place.batch_id(found.epoch - 1)


def test_a_new_table_numbers_its_batches_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    place = begin(monkeypatch, root, Table(version=0), existed=False)
    assert (place.base, place.table_id) == (1_000_000, "t1")
    assert not place.replaces
    assert not place.skips_known
    # It is kept: a run that dies from here on goes on with it.
    assert checkpoint.load(FILES, root) == place
    assert run(place, 3) == 1_000_003
    assert begin(monkeypatch, root, Table(highest=1_000_003)) == place


@pytest.mark.parametrize(
    ("lost", "base"), [("nothing", 1_000_003), ("its folder", 1_001_000), ("all", 1_001_000)]
)
def test_batches_rise_where_nothing_is_left_of_a_table(
    monkeypatch: pytest.MonkeyPatch, root: str, lost: str, base: int
) -> None:
    old = begin(monkeypatch, root, Table(version=0), existed=False)
    highest = run(old, 3)
    if lost != "nothing":
        FILES.delete(old.location if lost == "its folder" else root)
    # It is dropped, and the next run, a second later, makes it again.
    new = begin(monkeypatch, root, Table("t2", version=0), existed=False, now=NOW + 1)
    assert new.id != old.id
    assert new.base == base
    assert new.batch_id(0) > highest
    assert not new.skips_known
    assert not new.replaces


@pytest.mark.parametrize("lost", ["its folder", "all"])
def test_a_table_without_its_checkpoint_is_read_again_but_for_what_it_has(
    monkeypatch: pytest.MonkeyPatch, root: str, lost: str
) -> None:
    old = begin(monkeypatch, root, Table(version=0), existed=False)
    highest = run(old, 2)
    FILES.delete(old.location if lost == "its folder" else root)
    table = Table(highest=highest)
    new = begin(monkeypatch, root, table)
    assert new.skips_known
    assert not new.replaces
    # Under the same id the table would take its epochs for those that it has.
    assert new.id != old.id
    assert new.batch_id(0) > highest
    # Once that run came to its end, nothing is skipped.
    run(new, 1)
    assert not begin(monkeypatch, root, table).skips_known


def test_without_the_columns_of_places_nothing_tells_what_is_known(
    monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    table = Table(highest=7, columns=("_value", "_batch_id"))
    with pytest.raises(StreamError, match=r"_source_offset, _source_partition .*--full-refresh"):
        begin(monkeypatch, root, table)
    assert checkpoint.load(FILES, root) is None
    assert begin(monkeypatch, root, table, full_refresh=True).replaces


def test_another_tables_checkpoint_is_not_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    old = begin(monkeypatch, root, Table(version=0), existed=False)
    run(old, 2)
    new = begin(monkeypatch, root, Table("restored", highest=1_000_001))
    assert new.skips_known
    assert (new.id != old.id, new.table_id) == (True, "restored")
    # Neither the batches of the one nor those of the other come again.
    assert new.base == 1_000_002


def test_a_full_refresh_goes_on_until_it_has_replaced_the_table(
    monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    old = begin(monkeypatch, root, Table(version=0), existed=False)
    highest = run(old, 2)
    table = Table(highest=highest)
    place = begin(monkeypatch, root, table, full_refresh=True)
    assert (place.replaces, place.skips_known, place.base) == (True, False, highest)
    # The folder of the old one is gone with the pointer to it.
    assert set(FILES.names(root)) <= {checkpoint.POINTER, place.id}
    # It died before anything was planned, and after.
    again = begin(monkeypatch, root, table)
    assert (again.replaces, again.skips_known) == (True, False)
    found = ledger.load(FILES, again.location)
    found.note(FILES, {}, {})
    found.plan(FILES, [Landed("0.txt", "", 1, 0)])
    assert begin(monkeypatch, root, table) == again
    # Its commit was made and not noted, and a RESTORE undid it: nothing is replaced any more.
    after = begin(monkeypatch, root, replace(table, apps=(again.app_id,)))
    assert (after.replaces, after.skips_known) == (False, True)
    assert after.batch_id(0) > again.batch_id(0)


def test_a_full_refresh_of_a_new_table_replaces_nothing(
    monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    place = begin(monkeypatch, root, Table(version=0), existed=False, full_refresh=True)
    assert (place.replaces, place.skips_known) == (False, False)


@pytest.mark.parametrize(("committed", "idle"), [("commits/0", True), ("commits/1", False)])
def test_idle_where_nothing_is_planned(root: str, committed: str, idle: bool) -> None:
    place = Checkpoint(root, "spark", base=0, table_id="t")
    for name in ("offsets/0", committed):
        FILES.replace(f"{place.location}/{name}", 'v1\n{}\n{"a-b": {"0": 7}}')
    assert checkpoint.is_idle(FILES, place) is idle


@pytest.mark.parametrize(
    ("written", "waits"), [(-61, False), (-59, True), (0, True), (59, True), (61, False)]
)
def test_few_events_wait_for_max_wait_at_most(
    monkeypatch: pytest.MonkeyPatch, root: str, written: float, waits: bool
) -> None:
    """Also where the file's time is ahead of the clock, in seconds of `written`."""
    monkeypatch.setattr(start, "F", MagicMock())
    block = {"format": "text", "path": "landing", "min_rows": 10, "max_wait": 60}
    feed = parse_spec("landing.feed", block).resolve(Path(root), None)
    found = SimpleNamespace(collect=lambda: [(3, int((NOW + written) * 1e6))])
    limited = SimpleNamespace(agg=lambda *_: found)
    events: Any = SimpleNamespace(limit=lambda _: limited)
    place = Checkpoint(root, "spark", base=0, table_id="t")
    held = start.held_back(feed, lambda: events, place, lambda: NOW)
    assert held == (3 if waits else None)


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"id": "a", "more": 1}'])
def test_a_pointer_that_cannot_be_read_is_none(root: str, text: str | None) -> None:
    if text is not None:
        FILES.replace(f"{root}/{checkpoint.POINTER}", text)
    assert checkpoint.load(FILES, root) is None
