"""The condition that leaves out what `alluvium.restore` was told to skip."""

from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.names import literal


@pytest.mark.parametrize(
    ("batches", "files", "condition"),
    [
        ([], [], ""),
        ([17, 18], [], " and `_batch_id` not in (17L, 18L)"),
        (
            [17],
            [(18, "a/b's.json")],
            " and `_batch_id` not in (17L)"
            " and not (`_batch_id` <=> 18L and `_source_partition` <=> 'a/b\\'s.json')",
        ),
    ],
)
def test_condition(macros: Any, batches: list[int], files: list[Any], condition: str) -> None:
    relation = SimpleNamespace(type="table", is_delta=True, render=lambda: "items")
    macros.context["alluvium"]["_existing_relation"] = lambda node: relation
    macros.context["adapter"] = SimpleNamespace(
        skipped_batches=lambda *_: {"batches": batches, "files": files}, literal=literal
    )
    assert macros._skipped(SimpleNamespace(unique_id="model.root.items")) == condition
