"""The one batch that models of a command read for a merged model."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from alluvium.plan.versions import batches
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs import progressing
from dbt.adapters.alluvium.verbs.progressing import Progressing
from dbt.adapters.alluvium.verbs.streaming import Streaming


@pytest.fixture
def adapter() -> Streaming:
    made = object.__new__(Streaming)
    made.begin_batches()
    nodes = [node("batch"), node("late"), node("items", "batch", "late"), node("others", "batch")]
    nodes += [node("waiting"), node("returns", "items")]
    made._macro_resolver = SimpleNamespace(nodes={one.unique_id: one for one in nodes})
    return made


def node(name: str, *parents: str) -> Any:
    depends_on = SimpleNamespace(nodes=[f"model.p.{one}" for one in parents])
    return SimpleNamespace(unique_id=f"model.p.{name}", name=name, depends_on=depends_on)


def asked(
    adapter: Streaming,
    after: int,
    newest: int | None,
    caller: str = "batch",
    *,
    merged: str = "items",
    bronze: str = "raw.events",
    is_cut: bool = False,
) -> int | None:
    merged_id = f"model.p.{merged}"
    return adapter.one_batch(merged_id, merged, bronze, after, newest, is_cut, f"model.p.{caller}")


def test_all_models_end_with_the_batch_of_the_first(adapter: Streaming) -> None:
    assert asked(adapter, -1, 7) == 7
    # Bronze got another one before the second model looked.
    assert asked(adapter, -1, 8, "late") == 7
    # Of another merged model, after a merge, and in another command.
    assert asked(adapter, -1, 8, merged="others") == 8
    assert asked(adapter, 7, 8) == 8
    adapter.begin_batches()
    assert asked(adapter, 7, 9) == 9


def test_a_bronze_without_a_batch(adapter: Streaming) -> None:
    assert asked(adapter, -1, None) is None
    assert asked(adapter, -1, 1) is None


def test_two_tables_of_events_are_refused(adapter: Streaming) -> None:
    asked(adapter, 3, 7)
    for after in (3, 7):
        with pytest.raises(
            DbtRuntimeError,
            match=r"items gets events of raw\.events and of raw\.returns.*Accepted: one table",
        ):
            asked(adapter, after, 9, "late", bronze="raw.returns")


def test_a_model_beside_sets_no_bound(adapter: Streaming) -> None:
    """What counts the events that wait is no part of the merge, nor is what is made from it."""
    for beside in ("waiting", "returns"):
        assert asked(adapter, 3, 4, beside, is_cut=True) == 4
        assert not adapter._staged
    assert asked(adapter, 3, 7) == 7
    assert asked(adapter, 3, 7, "items") == 7
    # It ends where they end, as long as it begins there too.
    assert asked(adapter, 3, 4, "waiting", is_cut=True) == 7
    assert asked(adapter, 7, 8, "waiting", is_cut=True) == 8
    known = adapter._staged["model.p.items"]
    assert known.readers == {"model.p.batch", "model.p.items"}
    assert (known.newest, known.is_cut) == (7, False)


@pytest.mark.parametrize(
    ("before", "found", "had", "is_refused"),
    [
        ("raw.events", 3, False, False),
        ("raw.old", 7, False, False),
        ("raw.old", 3, True, True),
        # A first merge whose batch another command has staged noted nothing.
        (None, 3, False, True),
        (None, 3, True, False),
        (None, 7, False, False),
        (None, None, False, False),
    ],
)
def test_whose_batches_were_merged(
    monkeypatch: pytest.MonkeyPatch,
    before: str | None,
    found: int | None,
    had: bool,
    is_refused: bool,
) -> None:
    made = object.__new__(Progressing)
    items = "model.p.items"
    made._macro_resolver = SimpleNamespace(nodes={items: node("items")})
    numbers = {batches.app_id(items, "id"): 7}
    if before is not None:
        numbers[batches.read_from(items)] = batches.number_of(before)
    session = SimpleNamespace(sql=lambda _: SimpleNamespace(collect=lambda: [[found]]))
    monkeypatch.setattr(Progressing, "_handle", SimpleNamespace(session=session))
    monkeypatch.setattr(Progressing, "_working", lambda _: nullcontext(session))
    monkeypatch.setattr(progressing.log, "state", lambda *_: ("id", numbers))
    monkeypatch.setattr(progressing.told, "say", lambda _: None)
    monkeypatch.setattr(progressing.streams, "had_batch", lambda *_: had)
    bronze = AlluviumRelation.create(schema="raw", identifier="events")
    if is_refused:
        with pytest.raises(DbtRuntimeError, match="of another table up to 7"):
            made.merge_progress("s.items", items, bronze)
    else:
        assert made.merge_progress("s.items", items, bronze) == 7
