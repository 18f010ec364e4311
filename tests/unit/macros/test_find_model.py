"""Which model a text means: versions, packages, the caller itself."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

IDS = {
    "v1": "model.shop.orders.v1",
    "v2": "model.shop.orders.v2",
    "other": "model.lib.orders",
    "lone": "model.shop.lone.v3",
    "dotted": "model.shop.orders.old",
    "longer": "model.shop.orders_batch",
}


def model(made: Any, unique_id: str, **facts: Any) -> Any:
    _, package, *name = unique_id.split(".")
    version = name.pop()[1:] if name[-1][:1] == "v" and name[-1][1:].isdigit() else None
    return (
        made({"order_by": "a"})
        | {
            "unique_id": unique_id,
            "package_name": package,
            "name": ".".join(name),
            "version": None if version is None else int(version),
            "fqn": [package, "deep", *name, *([] if version is None else [f"v{version}"])],
        }
        | facts
    )


@pytest.fixture
def graph(macros: Any, node: Any) -> dict[str, Any]:
    nodes = {unique_id: model(node, unique_id) for unique_id in IDS.values()}
    nodes["test.shop.orders"] = node() | {"resource_type": "test", "name": "orders"}
    macros.context["graph"] = SimpleNamespace(nodes=nodes)
    return nodes


def ids(found: Any) -> list[str]:
    return sorted(node["unique_id"] for node in found)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("orders", ["other", "v1", "v2"]),
        ("orders.v1", ["v1"]),
        ("orders.v2", ["v2"]),
        ("orders.v3", []),
        ("shop.orders", ["v1", "v2"]),
        ("shop.orders.v2", ["v2"]),
        ("lib.orders", ["other"]),
        ("lib.orders.v1", []),
        ("lone", ["lone"]),
        ("lone.v3", ["lone"]),
        ("shop.lone", ["lone"]),
        ("orders.old", ["dotted"]),
        ("orders_batch", ["longer"]),
        ("Orders", []),
        ("rders", []),
        ("", []),
        (None, []),
        (5, []),
        (["orders.v1"], []),
        *((unique_id, [key]) for key, unique_id in IDS.items()),
    ],
)
def test_what_a_text_means(macros: Any, graph: Any, name: Any, meant: list[str]) -> None:
    assert ids(macros.models_named(name)) == sorted(IDS[key] for key in meant)


def test_every_model_has_a_name_of_its_own(macros: Any, graph: Any) -> None:
    """In every project made of these models."""
    every = dict(graph)
    for size in range(1, len(every) + 1):
        for some in itertools.combinations(every.values(), size):
            graph.clear()
            graph.update({node["unique_id"]: node for node in some})
            for node in some:
                if node["resource_type"] == "model":
                    name = macros.name_of(node)
                    assert macros.find_model(name, "who")["unique_id"] == node["unique_id"]


def test_a_model_that_names_itself(macros: Any, graph: Any) -> None:
    for key in ("v1", "v2", "other"):
        assert macros.find_model("orders", "who", IDS[key])["unique_id"] == IDS[key]
    # Not what another name says, nor who is neither.
    assert macros.find_model("orders.v2", "who", IDS["v1"])["unique_id"] == IDS["v2"]
    assert ids(macros.models_named("orders", IDS["lone"])) == ids(macros.models_named("orders"))


def test_the_model_that_calls(macros: Any) -> None:
    macros.context["model"] = {"unique_id": IDS["v1"]}
    assert macros.calling_model() == IDS["v1"]
    macros.context["model"] = {
        "unique_id": "unit_test.shop.t",
        "tested_node_unique_id": IDS["v2"],
    }
    assert macros.calling_model() == IDS["v2"]


def test_messages(macros: Any, graph: Any, stop: type[Exception]) -> None:
    with pytest.raises(stop) as raised:
        macros.find_model("orders", "alluvium.vacuum")
    assert str(raised.value) == (
        "alluvium.vacuum: 'orders' is the name of 3 models; accepted: lib.orders"
        " (model.lib.orders), orders.v1 (model.shop.orders.v1), orders.v2 (model.shop.orders.v2)"
    )
    with pytest.raises(stop, match=r"there is no enabled model 'orders.v9'; accepted: the name"):
        macros.find_model("orders.v9", "alluvium.vacuum")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("ordesr_batch", "orders_batch"), ("lones", "lone"), ("lone.v4", "lone.v3"), ("clients", "")],
)
def test_a_misspelt_name(
    macros: Any, graph: Any, stop: type[Exception], name: str, meant: str
) -> None:
    with pytest.raises(stop, match=f"there is no enabled model '{name}'") as raised:
        macros.find_model(name, "alluvium.commits")
    _, _, asked = str(raised.value).partition("; did you mean ")
    assert asked == (f"{meant}?" if meant else "")


def test_a_candidate_is_not_what_readers_see(
    macros: Any, graph: Any, stop: type[Exception]
) -> None:
    shown = {IDS["longer"]: [IDS["lone"], IDS["dotted"]]}
    macros.context["adapter"] = SimpleNamespace(shown_by=lambda one: shown.get(one, []))
    for name, end in (
        ("orders_batch", ", as lone and orders.old, of which it is the candidate"),
        (IDS["other"], ""),
    ):
        with pytest.raises(stop) as raised:
            macros.find_published(name, "alluvium.checkout")
        kind = graph[IDS["longer"]]["config"]["materialized"]
        assert str(raised.value) == (
            f"alluvium.checkout: '{name}' is materialized as {kind};"
            f" accepted: a published model{end}"
        )


def test_texts_of_dbt(macros: Any, graph: Any) -> None:
    v1, other, lone = (graph[IDS[key]] for key in ("v1", "other", "lone"))
    assert macros.selector_of(v1) == "shop.deep.orders.v1"
    assert macros.selector_of(other) == "lib.deep.orders"
    assert macros.selector_of(lone) == "lone"
    assert macros.ref_of(v1) == "ref('shop', 'orders', v=1)"
    assert macros.ref_of(other) == "ref('lib', 'orders')"
    assert macros.ref_of(lone) == "ref('lone', v=3)"


def reads(name: str) -> str:
    return "select * from {{ alluvium.new_events(ref('b'), '" + name + "') }}"


@pytest.mark.parametrize(
    ("name", "reader", "of"),
    [
        # A batch model may not leave it open which version it reads for.
        ("orders", "longer", []),
        ("orders.v1", "longer", ["v1"]),
        ("lib.orders", "longer", ["other"]),
        (IDS["v2"], "longer", ["v2"]),
        ("orders", "v2", ["v2"]),
        ("orders.v1", "v2", ["v1"]),
    ],
)
def test_whose_events_a_model_reads(
    macros: Any, graph: Any, name: str, reader: str, of: list[str]
) -> None:
    graph[IDS[reader]] |= {
        "raw_code": reads(name),
        "depends_on": {"nodes": [], "macros": ["macro.alluvium.new_events"]},
        "config": {"materialized": "table", "meta": {}},
    }
    for key in ("v1", "v2", "other"):
        merged = graph[IDS[key]]
        if key != reader:
            depends_on = {"nodes": [IDS[reader]], "macros": []}
            merged = merged | {"depends_on": depends_on}
            batches = ids(macros.batch_models(merged))
            assert batches == ([IDS[reader]] if key in of else [])
        assert macros.is_named_by(merged, graph[IDS[reader]]) is (key in of)


@pytest.mark.parametrize(
    ("selected", "said"),
    [
        (["id", "_batch_after", "_batch_through"], None),
        (["id", "_batch_after"], "_batch_through"),
        (["id"], "_batch_after and _batch_through"),
    ],
)
@pytest.mark.parametrize("reader", ["v2", "longer"])
def test_new_events_without_their_bounds_are_refused(
    macros: Any, graph: Any, reader: str, selected: list[str], said: str | None
) -> None:
    """No progress would be kept, and each run would merge all of bronze again."""
    for key in ("v1", "v2"):
        graph[IDS[key]] |= {"depends_on": {"nodes": [IDS["longer"]], "macros": []}}
    graph[IDS[reader]] |= {
        "raw_code": reads("orders.v2"),
        "depends_on": {"nodes": [], "macros": ["macro.alluvium.new_events"]},
        "config": {"materialized": "ephemeral", "meta": {}},
    }
    found = macros.dropped_bounds(graph[IDS["v2"]], dict.fromkeys(selected, "bigint"))
    assert len(found) == (said is not None)
    if said:
        assert f"alluvium.new_events: the model does not select {said};" in found[0]
    assert macros.dropped_bounds(graph[IDS["v1"]], {}) == []


def test_new_events_are_for_a_model_that_keeps_progress(
    macros: Any, graph: Any, stop: type[Exception]
) -> None:
    macros.context["model"] = {"unique_id": IDS["longer"], "resource_type": "model"}
    macros.context["flags"] = SimpleNamespace(INTROSPECT=False)
    # A merged model reads for itself: by the progress of another one it would miss events.
    with pytest.raises(stop, match=r"orders_batch names lone, and .*; accepted: its own name"):
        macros.new_events("events", "lone")
    assert "where `_batch_id` > -1L" in macros.new_events("events", "orders_batch")
    graph[IDS["longer"]] |= {"config": {"materialized": "table", "meta": {}}}
    for config in (
        {"materialized": "table", "meta": {}},
        {"materialized": "incremental", "meta": {"alluvium_merge": {}}},
    ):
        graph[IDS["lone"]] |= {"config": config}
        assert "where `_batch_id` > -1L" in macros.new_events("events", "lone")
    graph[IDS["lone"]] |= {"config": {"materialized": "incremental", "meta": {}}}
    with pytest.raises(stop, match=r"lone has no meta\.alluvium_merge, .* accepted: an increm"):
        macros.new_events("events", "lone")


def test_new_events_of_an_ephemeral_model_need_its_bronze(
    macros: Any, graph: Any, stop: type[Exception]
) -> None:
    """Its newest batch is looked up before there is a query that it could be part of."""
    macros.context["model"] = graph[IDS["longer"]]
    graph[IDS["longer"]] |= {"config": {"materialized": "table", "meta": {}}}
    graph[IDS["lone"]] |= {
        "config": {"materialized": "incremental", "meta": {"alluvium_merge": {}}}
    }
    asked: list[str] = []

    def ask(sql: str) -> Any:
        asked.append(sql)
        return SimpleNamespace(rows=[[7]])

    macros.context["run_query"] = ask
    macros.context["adapter"] = SimpleNamespace(
        newest_batch=lambda _: None, one_batch=lambda *given: given[4]
    )
    macros.context["alluvium"] |= {"_existing_relation": lambda _: None, "_skipped": lambda _: ""}
    events = SimpleNamespace(is_cte=True, identifier="__dbt__cte__lines")
    with pytest.raises(stop, match=r"lines is ephemeral, .* accepted: bronze="):
        macros.new_events(events, "lone")
    assert "`_batch_id` <= 7L" in macros.new_events(events, "lone", bronze="s.bronze")
    assert asked == ["select max(`_batch_id`) from s.bronze"]


def test_a_rebuild_needs_the_batch_of_this_version(
    macros: Any, graph: Any, stop: type[Exception]
) -> None:
    graph[IDS["longer"]] |= {
        "raw_code": reads("orders.v1"),
        "depends_on": {"nodes": [], "macros": ["macro.alluvium.new_events"]},
        "config": {"materialized": "table", "meta": {}},
    }
    macros.context["flags"] = SimpleNamespace(FULL_REFRESH=True, EMPTY=False, WHICH="run")
    macros.context["selected_resources"] = [IDS["v1"], IDS["v2"]]
    for key in ("v1", "v2"):
        graph[IDS[key]] |= {"depends_on": {"nodes": [IDS["longer"]], "macros": []}}
        mistakes: list[str] = []
        macros.validate_full_refresh(graph[IDS[key]], mistakes)
        said = [
            "orders.v1: a full refresh reads all events again, and orders_batch, which stages"
            " them, is not selected; select both: --select orders_batch+"
        ]
        assert mistakes == (said if key == "v1" else [])


def test_the_ranges_model_is_asked_by_its_id(macros: Any, graph: Any) -> None:
    """Two packages may each have a ranges model of one name, and versions too."""
    macros.context["alluvium"]["_existing_relation"] = lambda node: None
    for key, planner in (("v1", "lib.orders"), ("v2", "orders_batch")):
        ranges = {"column": key, "model": planner}
        graph[IDS[key]]["config"]["meta"] = {"alluvium_merge": {"ranges": ranges}}
    assert macros.range_request_of(IDS["other"])["column"] == "v1"
    assert macros.range_request_of(IDS["longer"])["column"] == "v2"
    assert macros.range_request_of(IDS["lone"]) is None


def test_each_version_has_its_window(macros: Any, graph: Any) -> None:
    asked = {"orders.v1": {"from_batch": 1}, IDS["other"]: {"through_batch": 2}}
    macros.context["var"] = lambda name, default=None: asked
    assert macros.backfill(graph[IDS["v1"]]) == "`_batch_id` >= 1L"
    assert macros.backfill(graph[IDS["other"]]) == "`_batch_id` <= 2L"
    assert macros.backfill(graph[IDS["v2"]]) is None
