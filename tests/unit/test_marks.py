"""The names in logs of tables: those that tables have which earlier versions wrote."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

from alluvium import marks
from alluvium.delta.log import backoffs
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.merge import progress
from alluvium.plan.layout.settings import Layout
from alluvium.plan.versions import arrivals


def test_names() -> None:
    found = {name: value for name, value in vars(marks).items() if name.isupper()}
    assert found == {
        "MERGED_THROUGH": "alluvium/",
        "READ_FROM": "alluvium/from/",
        "STREAM_EPOCH": "alluvium/stream/",
        "ZORDER_CUTS": "alluvium.zorder",
        "BACKOFF": "alluvium.pause",
        "REUSE": "alluvium.reuse",
        "PUBLISHED": "alluvium/published/",
        "HOLD": "alluvium/hold",
        "PARTIAL": "alluvium/partial/",
        "BRANCH": "alluvium/branch/",
        "BRANCH_MERGED": "alluvium/merged/",
        "LAYOUT_TAG": "alluvium.layout",
        "PUBLISHED_TAG": "alluvium.published",
        "AUTOMATA_TAG": "alluvium.automata",
        "MERGE_FIGURES": "alluvium_merge",
        "COMPACTION_FIGURES": "alluvium_compaction",
        "STREAM_NOTE": "alluvium_stream",
        "PUBLISH_NOTE": "alluvium_published",
        "REF_NOTE": "alluvium_ref",
        "RESTORE_NOTE": "alluvium_restored",
        "PURGE_NOTE": "alluvium_purge",
        "SKIPPED": "alluvium/skip/",
        "REUSE_NOTE": "alluvium_reuse",
        "BRANCH_MERGE": "alluvium_branch_merge",
    }


def test_what_is_made_of_them() -> None:
    assert progress.app_id("model.shop.items", "t-1") == "alluvium/model.shop.items/t-1"
    # Of a part of the rows a clone has a part too, from its first version on.
    parts = {"alluvium/partial/t-1/sample": 7, "alluvium/partial/t-1/empty": -1}
    others = {"alluvium/partial/t-0/empty": 3}
    assert progress.of_clone("t-1", parts | others, "t-2") == {"alluvium/partial/t-2/sample": 0}
    names = {field.name for field in dataclasses.fields(Checkpoint)}
    place = Checkpoint(**dict.fromkeys(names, "x"))
    assert place.app_id == "alluvium/stream/x"
    assert arrivals.noted(batch_id=3, files=1) == '{"alluvium_stream": {"batch_id": 3, "files": 1}}'
    assert backoffs.app_id(Layout(("a",)), "t-1").startswith("alluvium.pause:")


def test_they_are_written_nowhere_else() -> None:
    """In the library; the adapter's `alluvium_merge` is a key of `meta` that is called alike."""
    values = {value for name, value in vars(marks).items() if name.isupper()}
    library = Path(marks.__file__).parent
    found = {
        (path.name, node.value)
        for path in library.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in values
    }
    assert {value for name, value in found if name == "marks.py"} == values
    assert {name for name, value in found} == {"marks.py"}
