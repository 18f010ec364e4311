"""A source that cleans up its files, and all that read them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.alluvium import settings, streams


@pytest.fixture(autouse=True)
def project(tmp_path: Path) -> Path:
    streams.locate(tmp_path, tmp_path / "home")
    return tmp_path


def source(name: str, path: Any, clean: str | None = "delete", **options: Any) -> Any:
    options |= {} if clean is None else {"CLEANsource": clean}
    if clean == "archive":
        options["sourceArchiveDir"] = "/archive"
    block = {"format": "text", "path": path, "options": options}
    return SimpleNamespace(
        unique_id=f"source.shop.raw.{name}",
        resource_type="source",
        package_name="shop",
        source_name="raw",
        name=name,
        config=SimpleNamespace(meta={"alluvium_stream": block}),
    )


def node(name: str, *parents: str, kind: str = "model", how: str = "streaming_table") -> Any:
    return SimpleNamespace(
        unique_id=f"{kind}.shop.{name}",
        resource_type=kind,
        name=name,
        depends_on=SimpleNamespace(nodes=list(parents)),
        config=SimpleNamespace(materialized=how, meta={}),
    )


A, B = "source.shop.raw.a", "source.shop.raw.b"


@pytest.mark.parametrize("clean", ["delete", "archive"])
@pytest.mark.parametrize(
    "other",
    [
        [node("two", A)],
        [node("two", A, how="table")],
        [node("two", A, kind="snapshot", how="snapshot")],
        [node("by", A, how="ephemeral"), node("two", "model.shop.by")],
        [source("b", "landing/x", None), node("two", B)],
        [source("b", "landing/*/*.json", "off"), node("two", B, how="incremental")],
        [source("b", "landing/../landing", None), node("two", B)],
        [source("b", "link", None), node("two", B)],
        # Links below its own folder lead to that of the first, and to a file in it.
        [source("b", "other", None), node("two", B)],
        [source("b", "other/*/*.json", None), node("two", B)],
        [source("b", "away", None), node("two", B)],
    ],
)
def test_another_reader_is_a_mistake(project: Path, other: list[Any], clean: str) -> None:
    (project / "link").symlink_to("landing")
    for name, target in {"other/one": "landing/orders", "away/1.json": "landing/1.json"}.items():
        (project / name).parent.mkdir()
        (project / name).symlink_to(project / target)
    [found] = settings.cleaned_twice([source("a", "landing", clean), node("one", A), *other])
    assert found.startswith(
        f"source raw.a: meta.alluvium_stream.options.cleanSource: {clean}: a file is taken away "
        "once one streaming table has read it, and one, two read these files; accepted: one "
        "streaming"
    )


def test_of_two_sources_that_clean_each_is_told() -> None:
    nodes = [node("odd", A), node("even", B), node("test", A, kind="test", how="test")]
    found = settings.cleaned_twice(iter([*nodes, source("a", "landing"), source("b", "landing/*")]))
    assert len(found) == 2
    assert all("even, odd read these files" in line for line in found)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("one", A)],
        # Nobody reads it as a stream, so nothing is cleaned up.
        [node("one", A, how="table"), node("two", A, how="table")],
        [node("one", A), node("two", "model.shop.one", how="table")],
        [node("one", A), node("by", A, how="ephemeral")],
        [node("one", A), source("b", "elsewhere", None), node("two", B)],
        [node("one", A), source("b", "landing-2/*", None), node("two", B)],
        [node("one", A), source("b", "landing", None, pathglobfilter="*.csv"), node("two", B)],
        [node("one", A), source("b", {"env": "NOT_SET_HERE"}, None), node("two", B)],
        [node("one", A), source("b", "landing", "unknown"), node("two", B)],
        # What a link leads to stays.
        [node("one", A), source("b", "disk", None), node("two", B)],
    ],
)
def test_what_is_accepted(project: Path, nodes: list[Any]) -> None:
    (project / "landing").mkdir()
    (project / "landing/orders").symlink_to(project / "disk")
    assert settings.cleaned_twice([source("a", "landing", pathGlobFilter="*.json"), *nodes]) == []


def test_two_sources_with_one_view_are_a_mistake() -> None:
    """`a__b`, `c` and `a`, `b__c`: a model would read the files of the other."""
    block = {"alluvium_stream": {"format": "text", "path": "landing"}}
    both = [
        {"package_name": "shop", "source_name": of, "name": name, "config": {"meta": block}}
        for of, name in (("raw__eu", "orders"), ("raw", "eu__orders"))
    ]
    [found] = streams.mistakes(both)
    assert found.startswith(
        "source raw.eu__orders: its view is shop__raw__eu__orders, as that of ra"
    )
    assert streams.mistakes(both[:1]) == []


def test_without_cleaning_any_may_read() -> None:
    for clean in (None, "off", "OFF"):
        nodes = [source("a", "landing", clean), node("one", A), node("two", A)]
        assert settings.cleaned_twice(nodes) == []
