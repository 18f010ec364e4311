"""The project parses and documents without a warning, and everything in it is described."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from functional.project.reference import Reference
from functional.runner import REPO

pytestmark = pytest.mark.spark


def artifact(project: Reference, name: str) -> dict[str, Any]:
    return json.loads((project.root / "target" / name).read_text())


@pytest.fixture(scope="module")
def project(make_reference: Callable[..., Reference]) -> Reference:
    made = make_reference()
    made.dbt("parse", "--no-partial-parse", "--warn-error", "--show-all-deprecations")
    made.dbt("build", "--empty", "--exclude-resource-type", "test")
    made.dbt("docs", "generate", "--warn-error")
    return made


def test_every_table_is_in_the_catalog(project: Reference) -> None:
    catalog = artifact(project, "catalog.json")
    assert not catalog["errors"]
    nodes = artifact(project, "manifest.json")["nodes"]
    built = {key for key, node in nodes.items() if node["resource_type"] in ("model", "seed")}
    assert built == set(catalog["nodes"])


def test_every_column_is_described(project: Reference) -> None:
    catalog = artifact(project, "catalog.json")
    manifest = artifact(project, "manifest.json")
    for kind in ("nodes", "sources"):
        for key, node in manifest[kind].items():
            if node["resource_type"] not in ("model", "seed", "source"):
                continue
            assert node["description"].strip(), key
            described = {n for n, c in node["columns"].items() if c["description"].strip()}
            if key in catalog["nodes"]:
                assert described == set(catalog["nodes"][key]["columns"]), key
            else:
                assert described == set(node["columns"]) != set(), key


def test_every_public_macro_is_described(project: Reference) -> None:
    """Public is what the documentation or a model calls by its full name, and each generic test."""
    texts = [REPO / "README.md", *(REPO / "docs").glob("*.md"), *(REPO / "models").rglob("*.*")]
    called = {
        name
        for text in texts
        for name in re.findall(
            r"\balluvium\.(\w+)\(|run-operation.* alluvium\.(\w+)", text.read_text()
        )
        for name in name
        if name
    }
    macros = artifact(project, "manifest.json")["macros"]
    of_package = {m["name"]: m for m in macros.values() if m["package_name"] == "alluvium"}
    tests = {name for name in of_package if name.startswith("test_")}
    public = {name: of_package.get(name) for name in called | tests}
    assert {"new_events", "newest", "live", "zorder", "explain_merge"} <= set(public)
    assert {"test_unique_key", "test_immutable_column", "test_overlap_depth"} <= set(public)
    for name, macro in public.items():
        assert macro is not None, f"{name} is documented and does not exist"
        assert macro["description"].strip(), name
        shown = name.removeprefix("test_")
        assert re.search(rf"\balluvium\.{shown}\b", macro["description"]), f"{name}: no example"
        signature = re.search(
            rf"(?:macro|test) {shown}\((.*?)\)\s*-?%}}", macro["macro_sql"], re.DOTALL
        )
        expected = [part.split("=")[0].strip() for part in signature[1].split(",")]  # type: ignore[index]
        assert [a["name"] for a in macro["arguments"]] == [e for e in expected if e], name
        assert all(a["description"].strip() and a["type"] for a in macro["arguments"]), name
