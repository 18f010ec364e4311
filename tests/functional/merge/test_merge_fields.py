"""Fields inside structs, arrays and maps, by each `on_schema_change`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import merged

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BEFORE = {
    "gains": "named_struct('a', 1)",
    "loses": "named_struct('a', 1, 'b', 'x')",
    "turns": "named_struct('a', 1, 'b', 'x')",
    "listed": "array(named_struct('a', 1, 'b', 'x'), null)",
    "mapped": "map('k', named_struct('a', 1))",
    "deep": "named_struct('s', array(named_struct('a', 1)))",
    "doubly": "array(array(named_struct('a', 'x', 'b', 'y')))",
    "widens": "named_struct('a', 1)",
    "missing": "cast(null as struct<a: int>)",
    "untyped": "null",
    "hollow": "named_struct('k', 1, 'a', null)",
    "filled": "1",
    "emptied": "named_struct('k', 1, 'a', 1)",
}
AFTER = {
    "gains": "named_struct('a', 2, 'zip code', 'y')",
    "loses": "named_struct('a', 2)",
    "turns": "named_struct('B', 'y', 'a', 2)",
    "listed": "array(null, named_struct('c', 2.5, 'a', 2))",
    "mapped": "map('k', named_struct('a', 2, 'b', date'2024-01-01'), 'n', null)",
    "deep": "named_struct('s', array(named_struct('a', 2, 'b', named_struct('c', 3))))",
    "doubly": "array(array(named_struct('b', 'y2', 'a', 'x2')))",
    "widens": "named_struct('a', 2L)",
    "missing": "cast(null as struct<a: int, b: int>)",
    "untyped": "'x'",
    "hollow": "named_struct('k', 1, 'a', 'x')",
    "filled": "null",
    "emptied": "named_struct('k', 1, 'a', null)",
}
# What the row that came first shows, and the one that came second.
APPENDED = [
    {
        "id": 1,
        "gains": {"a": 1, "zip code": None},
        "loses": {"a": 1, "b": "x"},
        "turns": {"a": 1, "b": "x"},
        "listed": [{"a": 1, "b": "x", "c": None}, None],
        "mapped": {"k": {"a": 1, "b": None}},
        "deep": {"s": [{"a": 1, "b": None}]},
        "doubly": [[{"a": "x", "b": "y"}]],
        "widens": {"a": 1},
        "missing": None,
        "untyped": None,
        "hollow": {"k": 1},
        "filled": 1,
        "emptied": {"k": 1, "a": 1},
    },
    {
        "id": 2,
        "gains": {"a": 2, "zip code": "y"},
        "loses": {"a": 2, "b": None},
        "turns": {"a": 2, "b": "y"},
        "listed": [None, {"a": 2, "b": None, "c": 2.5}],
        "mapped": {"k": {"a": 2, "b": "2024-01-01"}, "n": None},
        "deep": {"s": [{"a": 2, "b": {"c": 3}}]},
        "doubly": [[{"a": "x2", "b": "y2"}]],
        "widens": {"a": 2},
        "missing": None,
        "untyped": "x",
        "hollow": {"k": 1, "a": "x"},
        "filled": None,
        "emptied": {"k": 1},
    },
]
# Of models without a merge of ours: as many fields as before; and others in type and order.
PLAIN = (
    {"renamed": "named_struct('a', 1)", "turns_as": "array(named_struct('a', 'x', 'b', 'y'))"},
    {"renamed": "named_struct('b', 2)", "turns_as": "array(named_struct('b', 'z', 'a', 2L))"},
)
SYNCED = ("gains", "loses", "mapped", "turns")
VOIDS = ("untyped", "hollow", "filled", "emptied")
MAPPING = {
    "delta.columnMapping.mode": "name",
    "delta.minReaderVersion": "2",
    "delta.minWriterVersion": "5",
}


def model(mode: str, columns: Any = tuple(BEFORE), engine: str = "auto", **config: Any) -> str:
    fields = (BEFORE | PLAIN[0], AFTER | PLAIN[1])
    first, second = (", ".join(f"{by[c]} as {c}" for c in columns) for by in fields)
    body = (
        f"{{% if var('second', false) %}} select 2 as id, 1 as v, {second}"
        f" {{% else %}} select 1 as id, 1 as v, {first} {{% endif %}}"
    )
    return merged({"order_by": "v", "engine": engine}, body, on_schema_change=mode, **config)


def plain(mode: str, columns: Any = tuple(BEFORE), **config: Any) -> str:
    """The same model without a merge of ours."""
    meta = "{'alluvium_merge': {'order_by': 'v', 'engine': 'auto'}}"
    text = model(mode, columns, incremental_strategy="append", **config)
    return text.replace(meta, "{}")


def test_fields(make_project: Callable[..., Any]) -> None:
    wide = {"tblproperties": MAPPING | {"delta.enableTypeWidening": "true"}}
    made = make_project(
        "fields",
        {
            "models/appended.sql": model("append_new_columns", tblproperties=MAPPING),
            "models/by_merge.sql": model(
                "append_new_columns", engine="merge_into", tblproperties=MAPPING
            ),
            "models/plain.sql": plain("append_new_columns", tblproperties=MAPPING),
            "models/plain_turned.sql": plain("ignore", ("turns_as",)),
            "models/plain_ignored.sql": plain("ignore", ("renamed",)),
            "models/synced.sql": model("sync_all_columns", (*SYNCED, *VOIDS, "widens"), **wide),
            "models/synced_plain.sql": model("sync_all_columns", SYNCED).replace(
                "'zip code'", "'zip'"
            ),
            "models/ignored.sql": model("ignore", ("gains", "loses", "turns")),
            "models/ignores_void.sql": model("ignore", ("hollow",)),
            "models/typed_late.sql": model("sync_all_columns", ("untyped",)).replace(
                "'x'", "array(1)"
            ),
            "models/clashes.sql": merged(
                {"order_by": "v"},
                "select 1 as id, 1 as v, array(named_struct('a',"
                " {{ '2' if var('second', false) else 'array(2)' }})) as s",
                on_schema_change="append_new_columns",
            ),
        },
    )
    made.dbt("run")
    assert not made.try_dbt("run", "--vars", "{second: true}").success
    for name in ("appended", "by_merge", "plain"):
        rows = made.session.sql(
            f"select to_json(struct(* except (v))) as row from fields.{name} order by id"
        )
        assert [json.loads(row["row"]) for row in rows.collect()] == nulls(APPENDED)
    turned = made.session.sql("select turns_as[0].a, turns_as[0].b from fields.plain_turned")
    assert sorted(map(tuple, turned.collect())) == [("2", "z"), ("x", "y")]
    rows = made.session.sql("select * except (v) from fields.synced order by id")
    assert rows.schema["loses"].dataType.names == ["a"]
    assert rows.schema["widens"].dataType["a"].dataType.typeName() == "long"
    assert rows.schema["gains"].dataType.names == ["a", "zip code"]
    assert rows.schema["untyped"].dataType.simpleString() == "string"
    assert rows.schema["hollow"].dataType.simpleString() == "struct<k:int,a:string>"
    assert rows.schema["filled"].dataType.simpleString() == "int"
    assert [row["loses"]["a"] for row in rows.collect()] == [1, 2]
    for said in (
        "fields.synced_plain: loses.b is gone. Delta drops fields of tables with column mapping",
        "fields.plain_ignored: renamed.a is gone; renamed.b is new (int). Accepted: on_schema",
        "fields.ignored: gains.zip code is new (string); loses.b is gone. Accepted: on_schema",
        "fields.ignores_void: hollow.a is string, in the table void. Accepted: a type that can"
        " become the table's (void takes a plain one, with `on_schema_change: append_new_columns`)",
        "fields.typed_late: untyped is array<int>, in the table void. What has no type takes none",
        "fields.clashes: s.element.a is int, in the table array<int>. Accepted: a type that can",
    ):
        assert made.said(said), said
    for name in (
        "synced_plain",
        "plain_ignored",
        "ignored",
        "ignores_void",
        "clashes",
        "typed_late",
    ):
        assert made.sql(f"select id from fields.{name}")["id"].tolist() == [1]


def nulls(value: Any) -> Any:
    """Without the fields that are NULL, as JSON shows a struct."""
    if isinstance(value, dict):
        return {key: nulls(one) for key, one in value.items() if one is not None or key == "n"}
    return [nulls(one) for one in value] if isinstance(value, list) else value
