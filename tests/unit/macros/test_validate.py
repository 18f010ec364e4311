"""Every mistake in our settings is reported at once, with what is accepted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from alluvium import schema
from dbt.adapters.alluvium import layouts


def use(macros: Any, *nodes: Any, sources: tuple[Any, ...] = ()) -> None:
    macros.context["graph"] = {
        "nodes": {node["unique_id"]: node for node in nodes},
        "sources": {source["unique_id"]: source for source in sources},
    }
    macros.context["adapter"] = SimpleNamespace(
        stream_mistakes=lambda found: ["format: bad"] * len(found),
        layout_mistakes=layouts.mistakes,
        setting_mistakes=schema.mistakes,
        given_vars=dict,
        is_retry=lambda: False,
    )


def mistakes(macros: Any, stop: type[Exception], *nodes: Any, **kwargs: Any) -> str:
    use(macros, *nodes, **kwargs)
    with pytest.raises(stop) as raised:
        macros.validate()
    return str(raised.value)


@pytest.mark.parametrize(
    ("meta", "config", "said"),
    [
        ("yes", {}, 'items: meta.alluvium_merge: "yes" is not a mapping'),
        ({"orderby": "a"}, {}, "unknown key orderby; accepted: order_by, delete_when, on_match"),
        ({"on_match": "skip"}, {}, '.on_match: "skip" is not accepted; accepted: update, ignore'),
        ({True: "skip"}, {}, "unknown key True"),
        ({"delete": "later", "delete_when": "d"}, {}, "accepted: soft, hard"),
        ({"order_by": [1]}, {}, "accepted: a column, or a list of columns"),
        ({"order_by": []}, {}, "accepted: a column, or a list of columns"),
        ({"delete_when": True}, {}, "delete_when: true is not accepted; accepted: a text"),
        ({"delete": "hard"}, {}, "nothing is deleted without delete_when"),
        ({"on_match": "ignore", "delete_when": "d"}, {}, "never changes a row"),
        ({"keep_by": "l"}, {}, "keep_by: nothing says which event comes before another"),
        (
            {"keep_by": "l", "order_by": "v", "on_match": "ignore"},
            {},
            "keep_by: a merge with on_match: ignore never changes a row",
        ),
        (
            {"keep_by": "`L`", "order_by": "v", "reject_by": "l"},
            {},
            "keep_by: `L` is named by unique_key, order_by or reject_by as well",
        ),
        ({"keep_by": ["a"], "order_by": "v"}, {}, "accepted: a text"),
        ({"ranges": "at"}, {}, 'ranges: "at" is not a mapping; accepted keys: column, method'),
        ({"ranges": {"method": "gaps"}}, {}, "ranges: column is missing"),
        (
            {"ranges": {"column": "a", "method": "x"}},
            {},
            "accepted: none, min_max, gaps, kmeans, cover",
        ),
        (
            {"ranges": {"column": "a", "method": "gaps", "k": 0}},
            {},
            "accepted: a whole number from 1 to 256",
        ),
        (
            {"ranges": {"column": "a", "method": "gaps", "k": "3"}},
            {},
            "accepted: a whole number from 1 to 256",
        ),
        ({"ranges": {"column": "a", "method": "auto", "k": 3}}, {}, "accepted: max_ranges"),
        ({"ranges": {"column": "a", "k": 3}}, {}, "k: min_max has no number of ranges"),
        (
            {"ranges": {"column": ["a", "b"]}},
            {},
            "min_max looks at one column; accepted for several",
        ),
        (
            {"ranges": {"column": ["a", "b"], "method": "auto", "model": "p"}},
            {},
            "accepted: without model",
        ),
        (
            {"ranges": {"column": ["a", 1], "method": "auto"}},
            {},
            "accepted: a column, or a list of columns",
        ),
        ({"ranges": {"column": "a", "max_ranges": 3}}, {}, "finds the number of ranges itself"),
        ({"ranges": {"column": "a", "engine": "spark_ml"}}, {}, "only kmeans is fitted"),
        ({"ranges": {"column": "a", "model": "nope"}}, {}, "there is no enabled model 'nope'"),
        ({"null_keys": "keep"}, {}, "accepted: reject, match, insert"),
        ({"null_keys": "insert", "delete_when": "d"}, {}, "a delete is none; accepted: reject"),
        ({"verify": "yes"}, {}, 'verify: "yes" is not accepted; accepted: true, false, reject'),
        ({"verify": True}, {}, "without ranges nothing is promised that could be wrong"),
        ({"tombstone_time": "at"}, {}, "nothing keeps tombstones"),
        (
            {"tombstone_time": "at", "delete_when": "d", "order_by": ["lsn", "n"]},
            {},
            "tombstone_time: a delete sets the columns of order_by alone; accepted: SQL over them"
            " (lsn, n)",
        ),
        ({}, {"materialized": "table"}, "materialized as table; accepted: incremental"),
        ({}, {"incremental_strategy": "append"}, "incremental_strategy is append; accepted: merge"),
        ({}, {"unique_key": None}, "the model has no unique_key"),
        ({}, {"file_format": "parquet"}, "file_format is parquet; accepted: delta"),
        ({}, {"merge_update_columns": ["a"], "merge_exclude_columns": ["b"]}, "both set"),
    ],
)
def test_each_mistake(
    macros: Any, node: Any, stop: Any, meta: Any, config: dict[str, Any], said: str
) -> None:
    text = mistakes(macros, stop, node(meta, **config))
    assert said in text
    assert text.startswith("1 mistake in the settings of alluvium, nothing was run:")


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"order_by": ["a", "b"], "delete_when": "op = 'd'", "delete": "hard"},
        {"on_match": "ignore", "ranges": False},
        {"ranges": {"column": "at", "method": "gaps", "k": 256}},
        {"ranges": {"column": ["at", "id"], "method": "auto"}},
    ],
)
def test_what_is_accepted(macros: Any, node: Any, meta: Any) -> None:
    use(macros, node(meta))
    macros.validate()


def test_all_mistakes_at_once(macros: Any, node: Any, stop: Any) -> None:
    first = node({"on_match": 1, "x": 2}) | {"name": "a", "unique_id": "model.root.a"}
    second = node()
    second["config"]["meta"] = {"alluvium_mrege": {}}
    source = {
        "unique_id": "source.root.raw.events",
        "name": "events",
        "source_name": "raw",
        "resource_type": "source",
        "config": {"meta": {"alluvium_stream": {"format": "x"}}},
    }
    text = mistakes(macros, stop, first, second, sources=(source,))
    assert text.startswith("4 mistakes")
    assert (
        "meta.alluvium_mrege is not known on a model; accepted: alluvium_layout, alluvium_merge"
        in text
    )
    assert "format: bad" in text


def batch(node: Any, **changes: Any) -> Any:
    return (
        node()
        | {
            "name": "batch",
            "unique_id": "model.root.batch",
            "config": {"materialized": "table", "meta": {}},
            "raw_code": "select * from {{ alluvium.new_events(ref('b'), 'items') }}",
            "depends_on": {"nodes": [], "macros": ["macro.alluvium.new_events"]},
        }
        | changes
    )


def test_full_refresh_needs_the_batch_model(macros: Any, node: Any, stop: Any) -> None:
    items = node({}) | {"depends_on": {"nodes": ["model.root.batch"], "macros": []}}
    macros.context["flags"] = SimpleNamespace(FULL_REFRESH=True, EMPTY=False, WHICH="run")
    macros.context["selected_resources"] = ["model.root.items"]
    text = mistakes(macros, stop, items, batch(node))
    assert "batch, which stages them, is not selected; select both: --select batch+" in text
    macros.context["selected_resources"] += ["model.root.batch"]
    macros.validate()


@pytest.mark.parametrize("command", ["clone", "compile", "generate", "list", "show", "freshness"])
def test_what_builds_nothing_reads_no_event(macros: Any, node: Any, command: str) -> None:
    """So it may select a merged model alone, with --full-refresh or a backfill."""
    items, *staged = staged_by_two(node, config=node({"order_by": "lsn"})["config"])
    use(macros, items, *staged)
    macros.context["flags"] = SimpleNamespace(FULL_REFRESH=True, EMPTY=False, WHICH=command)
    for selected in (items, staged[0]):
        macros.context["selected_resources"] = [selected["unique_id"]]
        macros.validate()
        asked = {"alluvium_backfill": {"items": {"from_batch": 1}}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(macros.context, "var", asked.get)
            macros.validate()


def test_a_retry_of_a_full_refresh_goes_on_after_the_batch(
    macros: Any, node: Any, stop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = node({}) | {"depends_on": {"nodes": ["model.root.batch"], "macros": []}}
    flags = SimpleNamespace(FULL_REFRESH=True, EMPTY=False, WHICH="build")
    monkeypatch.setitem(macros.context, "flags", flags)
    monkeypatch.setitem(macros.context, "selected_resources", ["model.root.items"])
    use(macros, items, batch(node))
    macros.context["adapter"].is_retry = lambda: True
    macros.validate()
    # On stock targets dbt does not say what a retry runs, so which events are new is not known.
    monkeypatch.setattr(macros.context["target"], "type", "spark")
    monkeypatch.setitem(macros.context, "selected_resources", [])
    mistakes: list[str] = []
    macros.validate_full_refresh(items, mistakes)
    assert "on a spark target dbt retry does not say what it runs" in mistakes[0]
    assert "with --full-refresh --select items" in mistakes[0]
    flags.FULL_REFRESH = False
    macros.validate_full_refresh(items, [])
    assert len(mistakes) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"materialized": "ephemeral", "meta": {}}},
        {"raw_code": "select * from {{ alluvium.new_events(ref('b'), 'items_two') }}"},
    ],
)
def test_full_refresh_alone_where_nothing_is_staged(
    macros: Any, node: Any, changes: dict[str, Any]
) -> None:
    items = node({}) | {"depends_on": {"nodes": ["model.root.batch"], "macros": []}}
    macros.context["flags"] = SimpleNamespace(FULL_REFRESH=True, EMPTY=False, WHICH="run")
    macros.context["selected_resources"] = ["model.root.items"]
    use(macros, items, batch(node, **changes))
    macros.validate()


def staged_by_two(node: Any, **changes: Any) -> tuple[Any, ...]:
    """`items`, which merges what `batch` and `late` read; with `own` it reads bronze as well."""
    above = {"nodes": ["model.root.batch", "model.root.late"], "macros": []}
    items = node({}) | {"depends_on": above} | changes
    return items, batch(node), batch(node, name="late", unique_id="model.root.late")


OWN = {
    "raw_code": "select * from {{ ref('batch') }}, {{ alluvium.new_events(ref('b'), 'items') }}",
    "depends_on": {"nodes": ["model.root.batch"], "macros": ["macro.alluvium.new_events"]},
}


@pytest.mark.parametrize(
    ("changes", "selected", "is_retry", "said"),
    [
        ({}, "items batch", False, "2 models read the events that are new to it, and have to end"),
        ({}, "items batch", False, "but late is not selected; select them together: --select"),
        ({}, "items", False, "batch and late are not selected"),
        ({}, "items batch late", False, None),
        ({}, "batch", False, None),
        # The other of them ran in the command before, and bronze may have got a batch since.
        ({}, "items batch", True, "late is not selected"),
        ({}, "items", True, None),
        (OWN, "items", False, "batch is not selected; select them together: --select batch items"),
        (OWN, "items", True, "batch is not selected"),
        (OWN, "items batch", False, None),
    ],
)
def test_what_one_merge_reads_is_run_in_one_command(
    macros: Any, node: Any, stop: Any, changes: Any, selected: str, is_retry: bool, said: str
) -> None:
    macros.context["selected_resources"] = [f"model.root.{one}" for one in selected.split()]
    use(macros, *staged_by_two(node, **changes))
    macros.context["adapter"].is_retry = lambda: is_retry
    if said is None:
        macros.validate()
        return
    with pytest.raises(stop, match=said):
        macros.validate()


def test_partition_outside_the_key_is_warned_of(macros: Any, node: Any) -> None:
    use(macros, node({"delete_when": "d"}, partition_by=["id", "day"]))
    macros.validate()
    assert len(macros.warnings) == 1
    assert "partitioned by day, which is not in unique_key" in macros.warnings[0]


@pytest.mark.parametrize(
    ("column", "config", "warned"),
    [
        ("at", {}, ["at"]),
        ("AT", {"partition_by": "region"}, ["region", "AT"]),
        ("id", {}, []),
        ("at", {"partition_by": ["at"]}, ["at"]),
        ("at", {"partition_by": ["at_day"]}, ["at_day"]),
    ],
)
def test_buckets_outside_the_key_are_warned_of(
    macros: Any, node: Any, column: str, config: dict[str, Any], warned: list[str]
) -> None:
    layout = {"sort_by": ["id"], "bucket_by": {"column": column, "window": "day"}}
    made = node({"delete_when": "d"}, **config)
    made["config"]["meta"]["alluvium_layout"] = layout
    use(macros, made)
    macros.validate()
    assert [text.split("partitioned by ")[1].split(",")[0] for text in macros.warnings] == warned


@pytest.mark.parametrize("target", ["alluvium", "spark"])
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"materialized": "view"}, "the model is materialized as view, which has no files"),
        ({"materialized": "ephemeral"}, "the model is materialized as ephemeral, which has"),
        ({"file_format": "parquet"}, "file_format is parquet; accepted: delta"),
    ],
)
def test_a_layout_is_of_a_delta_table(
    macros: Any, node: Any, stop: Any, target: str, config: dict[str, Any], said: str
) -> None:
    macros.context["target"] = SimpleNamespace(type=target)
    made = node(**({"materialized": "table"} | config))
    made["config"]["meta"]["alluvium_layout"] = {"sort_by": "id"}
    text = mistakes(macros, stop, made)
    assert text.startswith("1 mistake in the settings of alluvium, nothing was run:")
    assert f"items: meta.alluvium_layout: {said}" in text


@pytest.mark.parametrize("target", ["spark", "databricks", "alluvium"])
def test_stock_targets_publish_nothing(macros: Any, node: Any, stop: Any, target: str) -> None:
    """On an alluvium target the adapter tells the mistakes of published models."""
    macros.context["target"] = SimpleNamespace(type=target)
    made = node(materialized="published")
    made["config"]["meta"]["alluvium_publish"] = {"audit": "none"}
    if target == "alluvium":
        use(macros, made)
        macros.validate()
        return
    assert mistakes(macros, stop, made) == (
        "1 mistake in the settings of alluvium, nothing was run:\n  - items: materialized:"
        f" published, and the target is of type {target}, which publishes nothing; accepted: in"
        " its config enabled: \"{{ target.type == 'alluvium' }}\""
    )
    made["config"]["materialized"] = "incremental"
    assert "items: meta.alluvium_publish is read of published models only" in mistakes(
        macros, stop, made
    )


@pytest.mark.parametrize(("winner", "wrong"), [("dbt_spark", True), ("alluvium", False)])
def test_stock_targets_say_whose_macro_wins(
    macros: Any, node: Any, stop: Any, winner: str, wrong: bool
) -> None:
    macros.context["target"] = SimpleNamespace(type="spark")
    use(macros, node({}))
    found = SimpleNamespace(macro=SimpleNamespace(package_name=winner))
    macros.context["adapter"] = SimpleNamespace(dispatch=lambda name, package: found)
    if wrong:
        with pytest.raises(stop, match="get_merge_sql is taken from dbt_spark"):
            macros.validate()
    else:
        macros.validate()


@pytest.mark.parametrize(
    ("backfill", "meta", "said"),
    [
        ([3], {"order_by": "a"}, "[3] is not a mapping"),
        ({"nope": {"from_batch": 1}}, {"order_by": "a"}, "there is no enabled model 'nope'"),
        ({"items": {"from_batch": 1}}, None, "items is not a model with meta.alluvium_merge"),
        (
            {"items": {"from_batch": 1}, "root.items": {"from_batch": 1}},
            {"order_by": "a"},
            "root.items: model.root.items is named twice; accepted: one window for a model",
        ),
        ({"items": {}}, {"order_by": "a"}, "says no window; accepted: from_batch, through_batch"),
        ({"items": {"from_batch": "1 or true"}}, {"order_by": "a"}, "accepted: a whole number"),
        ({"items": {"from_time": "' or true"}}, {"order_by": "a"}, "a date and time in UTC"),
        ({"items": {"from_time": "2024-13-45"}}, {"order_by": "a"}, "a date and time in UTC"),
        ({"items": {"since": 1}}, {"order_by": "a"}, "unknown key since; accepted: from_batch"),
        ({"items": {"from_batch": 1}}, {"order_by": "a"}, "nothing would read the window"),
        ({"items": {"from_batch": 1}}, {}, "without order_by an old event would replace"),
        (
            {"items": {"from_batch": 1}},
            {"order_by": "a", "delete_when": "d", "delete": "hard"},
            "delete: hard forgets what was deleted",
        ),
        (
            {"items": {"from_batch": 1}},
            {"on_match": "ignore", "null_keys": "insert"},
            "insert would add events without a key once more",
        ),
    ],
)
def test_backfills_that_are_refused(
    macros: Any, node: Any, stop: Any, backfill: Any, meta: Any, said: str
) -> None:
    macros.context["var"] = lambda name, default=None: backfill
    assert said in mistakes(macros, stop, node(meta))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("itmes", "var alluvium_accept_loss: there is no enabled model 'itmes'"),
        (["items"], "var alluvium_accept_loss: items is materialized as"),
        (3, "var alluvium_accept_loss: 3 is not accepted; accepted: a model or a list of models"),
    ],
)
def test_losses_that_nobody_has(macros: Any, node: Any, stop: Any, given: Any, said: str) -> None:
    macros.context["var"] = {"alluvium_accept_loss": given}.get
    assert said in mistakes(macros, stop, node(None))


READS = "select * from {{ alluvium.new_events(ref('b'), 'items') }}"
OWN_MACRO = "select * from {{ bronze('items') }}"
INLINE = {"nodes": [], "macros": ["macro.alluvium.new_events"]}
STAGED = {"nodes": ["model.root.batch"], "macros": []}


def ask_for_backfill(macros: Any) -> None:
    asked = {"alluvium_backfill": {"items": {"from_batch": 1}}}
    macros.context["var"] = asked.get


@pytest.mark.parametrize(
    ("depends_on", "changes", "reads"),
    [
        (INLINE, {}, True),
        (STAGED, {}, True),
        (STAGED, {"config": {"materialized": "ephemeral", "meta": {}}}, True),
        (STAGED, {"depends_on": {"nodes": [], "macros": []}, "raw_code": OWN_MACRO}, True),
        (STAGED, {"raw_code": READS.replace("'items'", "'others'")}, False),
        ({"nodes": [], "macros": []}, {}, False),
    ],
)
def test_a_backfill_that_nothing_reads_is_refused(
    macros: Any, node: Any, stop: Any, depends_on: Any, changes: Any, reads: bool
) -> None:
    ask_for_backfill(macros)
    macros.context["selected_resources"] = ["model.root.items", "model.root.batch"]
    items = node({"order_by": "a"}) | {"depends_on": depends_on}
    use(macros, items, batch(node, **changes))
    if reads:
        macros.validate()
    else:
        with pytest.raises(stop, match=r"^1 mistake (.|\n)*nothing would read the window"):
            macros.validate()


def test_a_backfill_of_what_is_not_selected_is_refused(macros: Any, node: Any, stop: Any) -> None:
    ask_for_backfill(macros)
    macros.context["selected_resources"] = ["model.root.batch"]
    items = node({"order_by": "a"}) | {"depends_on": STAGED}
    said = mistakes(macros, stop, items, batch(node))
    assert said.startswith("1 mistake ")
    assert "items.items" not in said
    assert "items is not selected, so nothing would be merged" in said


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("2024-02-29", True),
        ("2024-12-31T23:59:59", True),
        ("0001-01-01 00:00", True),
        ("9999-12-31", True),
        ("2023-02-29", False),
        ("2024-04-31", False),
        ("2024-13-01", False),
        ("2024-00-10", False),
        ("2024-01-00", False),
        ("0000-01-01", False),
        ("2024-01-31 24:00", False),
        ("2024-01-31 10:60", False),
        ("2024-01-31 10:00:60", False),
        ("2024-1-1", False),
    ],
)
def test_moments_are_of_the_calendar(macros: Any, text: str, accepted: bool) -> None:
    assert macros.is_moment(text) is accepted


def test_a_backfill_and_a_rebuild_are_refused(macros: Any, node: Any, stop: Any) -> None:
    macros.context["var"] = lambda name, default=None: {"items": {"from_batch": 1}}
    macros.context["flags"].FULL_REFRESH = True
    macros.context["selected_resources"] = ["model.root.items"]
    try:
        said = mistakes(macros, stop, node({"order_by": "a"}))
    finally:
        macros.context["flags"].FULL_REFRESH = False
    assert "a full refresh would keep the window alone" in said


def test_a_backfill_reads_its_window(macros: Any, node: Any) -> None:
    window = {"from_batch": 3, "through_batch": 5, "from_time": "2024-01-31"}
    macros.context["var"] = lambda name, default=None: {"items": window}
    use(macros, node({"order_by": "a"}))
    assert macros.backfill(node()) == (
        "`_batch_id` >= 3L and `_batch_id` <= 5L"
        " and `_source_timestamp` >= timestamp'2024-01-31 00:00:00 UTC'"
    )
    assert macros.backfill(node() | {"unique_id": "model.root.others"}) is None
    assert macros.moment_text("2024-01-31T18:05") == "2024-01-31 18:05:00 UTC"


def in_tier(node: Any, tier: str) -> Any:
    made = node()
    made["config"]["meta"] = {"alluvium_tier": tier}
    return made


@pytest.mark.parametrize(
    ("tiers", "said"),
    [
        ({}, "accepted: a mapping of names to tiers"),
        ({"hot": {"weight": 0}}, "alluvium_tiers.hot.weight: 0 is not accepted"),
        ({"default": {}, "hot": {}}, "a tier may not be called default"),
        ({"hot": {"slo": "1 day or true"}}, "accepted: a number of minutes, hours, days or weeks"),
        ({"hot": {"share": 1}}, "unknown key share; accepted: weight, min_share, slo, spark_conf"),
        (
            {"hot": {"spark_conf": {"spark.sql.caseSensitive": True}}},
            "alluvium_tiers.hot.spark_conf: spark.sql.caseSensitive may not be set",
        ),
        ({"cold": {"weight": 1}}, 'items: meta.alluvium_tier: "hot" is not a tier; accepted: cold'),
    ],
)
def test_tiers_that_are_refused(macros: Any, node: Any, stop: Any, tiers: Any, said: str) -> None:
    macros.context["var"] = lambda name, default=None: (
        tiers if name == "alluvium_tiers" else default
    )
    assert said in mistakes(macros, stop, in_tier(node, "hot"))


def test_a_tier_of_the_default_ones(macros: Any, node: Any) -> None:
    use(macros, in_tier(node, "realtime"))
    macros.validate()
