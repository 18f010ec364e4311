"""The one batch that models of a command read for a merged model."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.alluvium.verbs.streaming import Streaming


@pytest.fixture
def adapter() -> Streaming:
    made = object.__new__(Streaming)
    made.begin_batches()
    return made


def test_all_models_end_with_the_batch_of_the_first(adapter: Streaming) -> None:
    assert adapter.one_batch("model.p.items", "items", "raw.events", -1, 7) == 7
    # Bronze got another one before the second model looked.
    assert adapter.one_batch("model.p.items", "items", "raw.events", -1, 8) == 7
    # Of another merged model, after a merge, and in another command.
    assert adapter.one_batch("model.p.others", "others", "raw.events", -1, 8) == 8
    assert adapter.one_batch("model.p.items", "items", "raw.events", 7, 8) == 8
    adapter.begin_batches()
    assert adapter.one_batch("model.p.items", "items", "raw.events", 7, 9) == 9


def test_a_bronze_without_a_batch(adapter: Streaming) -> None:
    assert adapter.one_batch("model.p.items", "items", "raw.events", -1, None) is None
    assert adapter.one_batch("model.p.items", "items", "raw.events", -1, 1) is None


def test_two_tables_of_events_are_refused(adapter: Streaming) -> None:
    adapter.one_batch("model.p.items", "items", "raw.events", 3, 7)
    for after in (3, 7):
        with pytest.raises(
            DbtRuntimeError,
            match=r"items gets events of raw\.events and of raw\.returns.*Accepted: one table",
        ):
            adapter.one_batch("model.p.items", "items", "raw.returns", after, 9)
