"""One schema of the settings: a library and a macro read it, and both say the same."""

from __future__ import annotations

import contextlib
import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.drawn import examples

from alluvium import names, schema
from alluvium.ingest.spec import SpecError, parse_spec
from alluvium.plan.layout.settings import LayoutError, parse_layout

WRONG: list[tuple[str, str, Any, list[str]]] = [
    (
        "model",
        "alluvium_merge",
        None,
        ["w: null is not a mapping; accepted keys: order_by, delete"],
    ),
    ("model", "alluvium_merge", ["a"], ['w: ["a"] is not a mapping; accepted keys: order_by']),
    (
        "model",
        "alluvium_merge",
        {"order_by": 5, "delete_whn": "d", "verify": "yes", "ranges": {"column": 5, "k": "3"}},
        [
            "w.order_by: 5 is not accepted; accepted: a column, or a list of columns",
            "w: unknown key delete_whn; accepted: order_by, delete_when, on_match, delete,"
            " null_keys, reject_by, keep_by, engine, verify, tombstone_time, ranges; did you mean"
            " delete_when?",
            'w.verify: "yes" is not accepted; accepted: true, false, reject',
            "w.ranges.column: 5 is not accepted; accepted: a column, or a list of columns",
            'w.ranges.k: "3" is not accepted; accepted: a whole number from 1 to 256',
        ],
    ),
    (
        "model",
        "alluvium_merge",
        {"ranges": True},
        ["w.ranges: true is not a mapping; accepted key"],
    ),
    ("model", "alluvium_merge", {"ranges": {"k": True}}, ["w.ranges.k: true is not accepted"]),
    ("model", "alluvium_merge", {"ranges": {"k": 2.0}}, ["w.ranges.k: 2.0 is not accepted"]),
    (
        "model",
        "alluvium_merge",
        {"order_by": ["a", ["b"]]},
        ['w.order_by: ["a", ["b"]] is not acc'],
    ),
    ("model", "alluvium_merge", {"on_match": ["update"]}, ['w.on_match: ["update"] is not accep']),
    ("model", "alluvium_merge", {"delete_when": " "}, ['w.delete_when: " " is not accepted']),
    ("model", "alluvium_merge", {True: 1}, ["w: unknown key True; accepted: order_by"]),
    (
        "model",
        "alluvium_tier",
        ["hourly"],
        ['w: ["hourly"] is not accepted; accepted: the name of'],
    ),
    ("model", "alluvium_layout", {"fan_in": 1}, ["w.fan_in: 1 is not accepted; accepted: a whole"]),
    (
        "model",
        "alluvium_layout",
        {"bucket_by": {"colum": "at"}},
        [
            "w.bucket_by: unknown key colum; accepted: column, window; did you mean column?",
            "w.bucket_by.column: missing; accepted: a partition column",
            "w.bucket_by.window: missing; accepted: hour, day, week, month",
        ],
    ),
    (
        "source",
        "alluvium_stream",
        {"path": {"enw": "X"}, "min_rows": "10"},
        [
            "w.format: missing; accepted: text, json, csv, parquet, orc, kafka",
            'w.path: {"enw": "X"} is not accepted',
            'w.min_rows: "10" is not accepted; accept',
        ],
    ),
    (
        "source",
        "alluvium_stream",
        {"format": "kafka", "topic": ["orders", "a,b"]},
        ['w.topic: ["orders", "a,b"] is not accepted; accepted: names of topics, of letters, '],
    ),
    ("test", "rows_kept", {"share": 0}, ["w.share: 0 is not accepted; accepted: a number above 0"]),
    ("test", "rows_kept", {"share": True}, ["w.share: true is not accepted; accepted: a number"]),
    (
        "test",
        "rejected_share",
        {"events": "e", "max": 1},
        ["w.max: 1 is not accepted; accepted: a number from 0 and below 1"],
    ),
    ("test", "overlap_depth", {"max": 0.5}, ["w.max: 0.5 is not accepted; accepted: a number fr"]),
    # The value may be a secret in the wrong shape.
    (
        "source",
        "alluvium_stream",
        {"format": "json", "options": {"key": ["secret"]}},
        ["w.options.key: accepted: a text, a number, a boolean or {env: NAME}"],
    ),
    ("var", "alluvium_backfill", "orders", ['w: "orders" is not a mapping; accepted: {model: {']),
    (
        "var",
        "alluvium_backfill",
        {"orders": 5},
        ["w.orders: 5 is not a mapping; accepted keys: fr"],
    ),
    (
        "var",
        "alluvium_backfill",
        {"orders": {"from_tme": "2024-01-01", "from_batch": -1}},
        [
            "w.orders: unknown key from_tme; accepted: from_batch, through_batch, from_time,"
            " before_time; did you mean from_time?",
            "w.orders.from_batch: -1 is not accepted; accepted: a whole number",
        ],
    ),
    (
        "var",
        "alluvium_backfill",
        {"orders": {"from_batch": datetime.date(2024, 1, 31)}},
        ['w.orders.from_batch: "2024-01-31" is not accepted; accepted: a whole number'],
    ),
    ("var", "alluvium_tiers", {}, ["w: {} is not accepted; accepted: a mapping of names to tiers"]),
    ("var", "alluvium_tiers", "hot", ['w: "hot" is not a mapping; accepted: a mapping of names']),
    ("var", "alluvium_tiers", {"hot": None}, ["w.hot: null is not a mapping; accepted keys: weig"]),
    (
        "var",
        "alluvium_tiers",
        {"hot": {"spark_conf": "a=b"}},
        ["w.hot.spark_conf: accepted: a mapping of"],
    ),
    (
        "var",
        "alluvium_maintenance",
        "no way",
        ['w: "no way" is not accepted; accepted: true, false'],
    ),
    ("var", "alluvium_maintenance", 0, ["w: 0 is not accepted; accepted: true, false"]),
    ("var", "alluvium_demo", None, ["w: null is not accepted; accepted: true, false"]),
    ("config", "merge_update_columns", 5, ["w: 5 is not accepted; accepted: a column, or a list"]),
    ("config", "unique_key", {"a": 1}, ['w: {"a": 1} is not accepted; accepted: a column, or a']),
    (
        "config",
        "incremental_predicates",
        [["a"]],
        ['w: [["a"]] is not accepted; accepted: SQL, or'],
    ),
]


def walked(macros: Any, value: Any, rule: Any) -> list[str]:
    found: list[str] = []
    macros.walk_schema("w", value, rule, found)
    return found


@pytest.mark.parametrize(("group", "key", "value", "said"), WRONG)
def test_both_readers_find_the_same(
    macros: Any, group: str, key: str, value: Any, said: list[str]
) -> None:
    rule = macros.settings_schema()[group][key]
    found = walked(macros, value, rule)
    assert len(found) == len(said)
    for line in said:
        assert any(one.startswith(line) for one in found), (line, found)
    assert sorted(schema.mistakes("w", value, rule)) == sorted(found)


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("model", "alluvium_merge", {"order_by": ("a", "`b c`"), "ranges": None}),
        ("model", "alluvium_merge", {"ranges": False, "verify": False}),
        (
            "model",
            "alluvium_layout",
            {"sort_by": "a", "target_bytes": "128 MiB", "budget": 1 << 30},
        ),
        ("source", "alluvium_stream", {"format": "kafka", "topic": ["a"], "max_wait": "90 s"}),
        (
            "source",
            "alluvium_stream",
            {"format": "csv", "path": {"env": "X"}, "options": {"a": 1, "b": {"env": "Y"}}},
        ),
        ("var", "alluvium_backfill", {"orders": {"from_time": datetime.date(2024, 1, 31)}}),
        ("var", "alluvium_backfill", {"o": {"before_time": datetime.datetime(2024, 1, 31, 18)}}),
        ("var", "alluvium_backfill", None),
        ("var", "alluvium_tiers", {"hot": {"weight": 256, "spark_conf": {"spark.a": 1}}}),
        ("config", "merge_update_columns", []),
        ("config", "incremental_predicates", "a > 1"),
        ("test", "rows_kept", {"share": 1}),
        ("test", "rejected_share", {"events": "e", "max": 0}),
        ("test", "rejected_share", {"events": "e", "max": 0.999}),
        ("test", "write_amplification", {"max": 1}),
        ("test", "write_amplification", {"max": 1e17}),
        ("test", "overlap_depth", {"max": float("inf")}),
    ],
)
def test_both_readers_accept(macros: Any, group: str, key: str, value: Any) -> None:
    rule = macros.settings_schema()[group][key]
    assert walked(macros, value, rule) == schema.mistakes("w", value, rule) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 300)
    | st.sampled_from(["", " ", "update", "1 day", "2 GiB", "2024-02-30", "2024-02-29", "auto"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["column", "env", "orders", "colum", "weight"]), inner)
    ),
    max_leaves=6,
)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), value=VALUES)
def test_both_readers_agree_on_anything(macros: Any, data: Any, value: Any) -> None:
    groups = macros.settings_schema()
    group = data.draw(st.sampled_from(["model", "source", "var", "config"]))
    key = data.draw(st.sampled_from(sorted(groups[group])))
    rule = groups[group][key]
    if "properties" in rule and data.draw(st.booleans()):
        value = {data.draw(st.sampled_from(sorted(rule["properties"]))): value}
    assert sorted(walked(macros, value, rule)) == sorted(schema.mistakes("w", value, rule))


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("alumige_r", max_size=14), st.lists(st.text("alumige_r", min_size=1), max_size=4))
def test_both_know_what_was_meant(macros: Any, name: str, known: list[str]) -> None:
    known = ["alluvium_merge", *known]
    assert macros.nearest_name(name, known) == names.nearest(name, known)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("aluvium_merge", "alluvium_merge"),
        ("alluvium_mrege", "alluvium_merge"),
        ("alluvium-tier", "alluvium_tier"),
        ("Alluvium_Merge", "alluvium_merge"),
        ("owner", None),
        ("tier", None),
        ("", None),
        (5, None),
    ],
)
def test_what_was_meant(macros: Any, name: Any, meant: str | None) -> None:
    known = ["alluvium_merge", "alluvium_tier", "alluvium_layout"]
    assert names.nearest(name, known) == macros.nearest_name(name, known) == meant


def test_the_parsers_know_the_keys_that_the_schema_has(macros: Any) -> None:
    """The adapter's own parsers of streams and layouts accept and refuse what the schema does."""
    known = macros.settings_schema()
    with pytest.raises(LayoutError) as layout:
        parse_layout("m", {"sort_by": "a", "x": 1})
    with pytest.raises(SpecError) as spec:
        parse_spec("raw.s", {"format": "json", "path": "p", "x": 1})
    for raised, rule in (
        (layout, known["model"]["alluvium_layout"]),
        (spec, known["source"]["alluvium_stream"]),
    ):
        [mistake] = raised.value.mistakes
        assert mistake.split("accepted: ")[1].split(", ") == list(rule["properties"])


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("sort_by", [5, [], ["a", 1], {"a": 1}, " "]),
        ("bucket_by", ["day", {}, {"column": 5, "window": "day"}, {"column": "a", "window": "y"}]),
        ("target_rows", [0, "5", True]),
        ("target_bytes", ["1 MB", -1, True]),
        ("fan_in", [1, "32"]),
        ("quiet_after", [6, "6h"]),
        ("retain", ["30d", 30]),
        ("budget", ["lots"]),
        ("curve", ["hilbert", 1, ["zorder"]]),
        ("partial_progress", ["yes", 0]),
        ("index", [True, [], 5]),
    ],
)
def test_a_layout_is_refused_by_both(macros: Any, key: str, values: list[Any]) -> None:
    rule = macros.settings_schema()["model"]["alluvium_layout"]
    for value in values:
        block = {"sort_by": "a", key: value}
        assert walked(macros, block, rule), value
        with pytest.raises(LayoutError, match=key):
            parse_layout("m", block)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("format", [5, ["text"], "xml", True]),
        ("path", [["a"], {"enw": "A"}, ""]),
        ("topic", [5, [], ["a", "b c"], "a*", ""]),
        ("schema", [5, " "]),
        ("min_rows", [0, "5", True]),
        ("max_wait", ["soon", -1, True]),
        ("max_files_per_trigger", [0, "1"]),
        ("options", ["a", {"pathGlobFilter": ["a"]}]),
    ],
)
def test_a_stream_is_refused_by_both(macros: Any, key: str, values: list[Any]) -> None:
    rule = macros.settings_schema()["source"]["alluvium_stream"]
    for value in values:
        block = {"format": "json", "path": "p", "min_rows": 2, "max_wait": 5, key: value}
        assert walked(macros, block, rule), value
        with pytest.raises(SpecError, match=key):
            parse_spec("raw.s", block)


def on(target: str, macros: Any, node: Any, **given: Any) -> None:
    """A project of one node with these vars, on a target of this type."""
    macros.context["target"] = SimpleNamespace(type=target)
    macros.context["graph"] = {"nodes": {"a": node}, "sources": {}}
    macros.context["var"] = lambda name, default=None: given.get(name, default)
    macros.context["invocation_args_dict"] = {"vars": given}
    macro = SimpleNamespace(macro=SimpleNamespace(package_name="alluvium"))
    macros.context["adapter"] = SimpleNamespace(
        dispatch=lambda name, package: macro,
        given_vars=lambda: given,
        setting_mistakes=schema.mistakes,
        stream_mistakes=lambda found: [],
        layout_mistakes=lambda found: [],
        is_retry=lambda: False,
    )


@pytest.mark.parametrize("target", ["alluvium", "spark"])
def test_every_mistake_at_once(macros: Any, node: Any, stop: Any, target: str) -> None:
    wrong = node(
        {"order_by": 5, "ranges": {"column": 5, "model": "nobody"}, "tombstone_time": "at"},
        merge_update_columns=5,
        alluvium_layout={},
    )
    wrong["config"]["meta"] |= {"alluvium_tier": ["hourly"], "alluvium_mrege": {}}
    on(target, macros, wrong, alluvium_backfil={}, alluvium_maintenance="no", alluvium_backfill=5)
    with pytest.raises(stop) as raised:
        macros.validate()
    said = str(raised.value)
    for line in (
        "items: meta.alluvium_merge.order_by: 5 is not accepted",
        "items: meta.alluvium_merge.ranges.column: 5 is not accepted",
        "items: meta.alluvium_merge.tombstone_time: nothing keeps tombstones",
        "items: merge_update_columns: 5 is not accepted",
        'items: meta.alluvium_tier: ["hourly"] is not accepted',
        "items: meta.alluvium_mrege is not known on a model; accepted: alluvium_layout,"
        " alluvium_merge, alluvium_publish, alluvium_reuse, alluvium_tier;"
        " did you mean alluvium_merge?",
        "items: alluvium_layout does not stand in meta",
        "var alluvium_backfil is not known; accepted: alluvium_backfill, alluvium_tiers,"
        " alluvium_accept_loss, alluvium_maintenance, alluvium_reuse, alluvium_storage,"
        " alluvium_demo; did you mean alluvium_backfill?",
        'var alluvium_maintenance: "no" is not accepted; accepted: true, false',
        "var alluvium_backfill: 5 is not a mapping; accepted: {model: {",
    ):
        assert line in said, line
    assert ("there is no enabled model 'nobody'" in said) == (target == "alluvium")
    assert said.startswith(f"{said.count(chr(10))} mistakes")


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["alluvium", "spark"]),
    st.dictionaries(st.sampled_from(["order_by", "ranges", "delete_when", "verify"]), VALUES),
    st.fixed_dictionaries({}, optional={"alluvium_merge": VALUES, "alluvium_layout": VALUES}),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("alluvium_backfill", "alluvium_tiers", "alluvium_accept_loss"), VALUES
        ),
    ),
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("merge_update_columns", "partition_by", "predicates"), VALUES)
    ),
)
def test_no_value_ends_in_an_error_of_jinja(
    macros: Any, node: Any, stop: Any, target: str, block: Any, meta: Any, given: Any, config: Any
) -> None:
    made = node(block, **config) | {"name": "orders", "columns": {}}
    made["config"]["meta"] |= meta
    on(target, macros, made, **given)
    with contextlib.suppress(stop):
        macros.validate()


@pytest.mark.parametrize("target", ["alluvium", "spark"])
def test_near_misses_only_warn(macros: Any, node: Any, target: str) -> None:
    near = node()
    near["config"]["meta"] = {"aluvium_merge": {}, "owner": "me"}
    on(target, macros, near, aluvium_backfill={}, other=1)
    macros.validate()
    assert macros.warnings == [
        "items: meta.aluvium_merge is not a setting of alluvium and changes nothing;"
        " did you mean alluvium_merge?",
        "var aluvium_backfill is not a setting of alluvium and changes nothing;"
        " did you mean alluvium_backfill?",
    ]


def test_names_that_a_contract_does_not_have(macros: Any, node: Any, stop: Any) -> None:
    made = node(
        {"order_by": "v"},
        unique_key="`Order id`",
        merge_update_columns=["nmae", "`v`"],
        contract={"enforced": True},
    )
    made["columns"] = {name: {"name": name} for name in ("`order id`", "v", "name")}
    on("alluvium", macros, made)
    with pytest.raises(stop) as raised:
        macros.validate()
    assert str(raised.value).splitlines()[1:] == [
        "  - items: merge_update_columns: the contract has no column nmae;"
        " accepted: order id, v, name; did you mean name?"
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"modle": "a"}, "unknown argument modle; accepted: model, dry_run; did you mean model?"),
        ({}, "model is missing; accepted: the name of a model"),
        ({"model": 5}, "model is 5; accepted: the name of a model"),
        ({"model": "a", "dry_run": "no"}, 'dry_run is "no"; accepted: true, false'),
    ],
)
def test_arguments_of_operations(macros: Any, stop: Any, args: Any, said: str) -> None:
    macros.context["alluvium"]["validate"] = lambda: ""
    with pytest.raises(stop) as raised:
        macros.vacuum(**args)
    assert str(raised.value) == f"alluvium.vacuum: {said}"
