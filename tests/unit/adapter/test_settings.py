"""`meta.alluvium_*` where the dbt package, which checks all of it, is not installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from alluvium.engine.context import Settings
from dbt.adapters.alluvium import settings, streams


class Config(SimpleNamespace):
    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key, default)


def node(kind: str, meta: Any, **config: Any) -> Any:
    known = {
        "name": "items",
        "source_name": "raw",
        "package_name": "shop",
        "config": {"meta": meta, **config},
    }
    return SimpleNamespace(
        name="items",
        resource_type=kind,
        config=SimpleNamespace(meta=meta),
        to_dict=lambda: known,
    )


@pytest.mark.parametrize(
    ("kind", "meta", "said"),
    [
        ("model", {"alluvium_mrege": {}}, "items: meta.alluvium_mrege is not known on a model"),
        (
            "model",
            {"alluvium_stream": {}},
            "accepted: alluvium_layout, alluvium_merge, alluvium_publish, alluvium_t",
        ),
        ("source", {"alluvium_steam": {}}, "not known on a source; accepted: alluvium_stream"),
        ("model", {"alluvium_merge": {}}, "meta.alluvium_merge needs the dbt package `alluvium`"),
        ("model", {"alluvium_tier": "hot"}, "meta.alluvium_tier needs the dbt package `alluvium`"),
        (
            "model",
            {"alluvium_layout": {"sortby": "a"}},
            "items: meta.alluvium_layout: unknown key sortby",
        ),
        (
            "source",
            {"alluvium_stream": {"format": "xml"}},
            "raw.items: meta.alluvium_stream.format",
        ),
    ],
)
def test_each_mistake(kind: str, meta: Any, said: str) -> None:
    found = settings.mistakes([node("model", {}), node(kind, meta)])
    assert any(said in line for line in found), found
    assert all(line.startswith(("items: ", "source raw.items: ")) for line in found)


def test_what_is_accepted() -> None:
    accepted = [
        node("model", {"alluvium_layout": {"sort_by": ["a"]}, "owner": "me", 1: 2}),
        node("source", {"alluvium_stream": {"format": "text", "path": "landing"}}),
        node("model", None),
        # Neither the package nor the adapter reads these.
        node("seed", {"alluvium_mrege": {}}),
    ]
    assert settings.mistakes(accepted) == []


def table(unique_id: str, schema: str, alias: str, **config: Any) -> Any:
    return SimpleNamespace(
        unique_id=unique_id,
        resource_type=unique_id.split(".")[0],
        schema=schema,
        alias=alias,
        config=Config(**{"materialized": "table", "meta": {}} | config),
    )


def stream(source: str, name: str, meta: Any) -> Any:
    return SimpleNamespace(
        unique_id=f"source.shop.{source}.{name}",
        resource_type="source",
        package_name="shop",
        source_name=source,
        name=name,
        config=SimpleNamespace(meta=meta),
    )


def test_names_that_are_one_to_spark() -> None:
    block = {"alluvium_stream": {"format": "text", "path": "landing"}}
    found = settings.clashes(
        [
            table("model.shop.a", "Marts", "Orders"),
            table("seed.shop.b", "marts", "orders"),
            table("model.shop.c", "marts", "orders", materialized="ephemeral"),
            table("model.shop.d", "other", "orders"),
            table("test.shop.e", "marts", "orders"),
            stream("raw", "Feed", block),
            stream("RAW", "feed", block),
            # Of tables, two sources may read one.
            stream("raw", "t", {}),
            stream("raw", "T", {}),
            table("model.shop.f", "marts", "kept", meta={"alluvium_merge": {}}),
            table("model.shop.g", "Marts", "Kept__Rejected"),
            table("model.shop.h", "one", "far", location_root="/away"),
            table("model.shop.i", "two", "far", location_root="/away/"),
            table("model.shop.j", "three", "Far", location_root="/away"),
        ]
    )
    assert sorted(found) == [
        "model.shop.a, seed.shop.b: one table to Spark, marts.orders, whatever the case of the"
        " names; accepted: another alias or schema for each",
        "model.shop.f (its rejected events), model.shop.g: one table to Spark,"
        " marts.kept__rejected, whatever the case of the names; accepted: another alias or schema"
        " for each",
        "model.shop.h, model.shop.i: one folder to Spark, /away/far; accepted: another alias or"
        " location_root for each",
        "source.shop.RAW.feed, source.shop.raw.Feed: one stream to Spark, shop__raw__feed, whatever"
        " the case of the names; accepted: another name for each",
    ]


def test_places_on_one_disk(tmp_path: Path) -> None:
    """Of a cluster's machines each would have its own."""
    streams.locate(tmp_path, tmp_path / "home")

    def table(root: str | None) -> Any:
        config = Config(meta={}, location_root=root)
        return SimpleNamespace(name="items", resource_type="model", config=config)

    def landing(path: str) -> Any:
        made = node("source", {"alluvium_stream": {"format": "text", "path": path}})
        made.source_name = "raw"
        return made

    remote = [table(None), table("s3a://lake/own"), landing("s3a://lake/in/*.json")]
    assert settings.on_one_disk(remote, "s3a://lake/warehouse") == []
    (found,) = settings.on_one_disk(
        [*remote, table("/data/own"), landing("in")], "file:///home/warehouse"
    )
    for place in (
        "the warehouse (file:///home/warehouse)",
        "location_root of items (/data/own)",
        f"landing of raw.items ({tmp_path}/in)",
    ):
        assert place in found
    assert "accepted: a URI such as s3a://bucket/folder, or `shared_disk: true`" in found
    assert "lake" not in found


@pytest.mark.parametrize(
    ("conf", "place"),
    [
        ({}, "/home/warehouse"),
        ({"spark.sql.warehouse.dir": "s3a://lake/w"}, "s3a://lake/w"),
        ({"spark.sql.warehouse.dir": "/w"}, "/w"),
        (
            {"spark.sql.warehouse.dir": "/w", "spark.hadoop.fs.defaultFS": "hdfs://h:9000/"},
            "hdfs://h:9000/w",
        ),
    ],
)
def test_the_warehouse(conf: dict[str, str], place: str) -> None:
    assert Settings(Path("/home"), conf=conf).warehouse == place


@pytest.mark.parametrize(
    ("master", "is_local"),
    [("local[*]", True), ("local-cluster[2,1,1024]", True), ("spark://h:7077", False)],
)
def test_one_machine_or_several(master: str, is_local: bool) -> None:
    assert Settings(Path("/home"), master=master).is_local is is_local
