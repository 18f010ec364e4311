"""What a sample of events says of its feed, and the models that are written from it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.rendered import Macros, compiled_macros

from alluvium.plan import feeds
from alluvium.plan.feeds.sample import of_schema


def texts(*events: Any) -> list[str]:
    return [json.dumps(event) for event in events]


def schema_of(*fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "fields": [
            {"type": "struct", "field": "before", "fields": []},
            {"type": "struct", "field": "after", "fields": list(fields)},
        ]
    }


ROW = {
    "id": 1, "at": "2022-01-08T01:02:03Z", "day": "2022-01-08", "n": 1_700_000_000_000_000,
    "total": "BNI=", "price": "12.50", "tags": ["a"], "x": 1.5, "flag": True, "o": {"a": 1},
    "nothing": None, "odd name": "text",
}  # fmt: skip
TYPES = {
    "id": "bigint", "at": "timestamp", "day": "date", "n": "bigint", "total": "string",
    "price": "string", "tags": "array<string>", "x": "double", "flag": "boolean", "o": "string",
    "nothing": "string", "odd name": "string",
}  # fmt: skip
ASKED = {"n", "total", "price", "x", "o", "nothing"}
SOURCE = {"connector": "postgresql", "table": "orders"}
FORMS = {
    "debezium": texts({"op": "c", "after": ROW, "source": SOURCE}, {"ts_ms": 1}),
    "mongodb": texts({"op": "c", "after": json.dumps(ROW), "source": {"connector": "mongodb"}}),
    "flat": texts(ROW | {"__deleted": "false", "__op": "c"}),
    "json": [*texts(ROW), "no json"],
}


def rendered(model: str) -> str:
    macros = Macros()
    macros.context["alluvium"]["new_events"] = lambda events, merged: f"{events} as {merged}"
    environment, _ = compiled_macros()
    query: str = environment.from_string(model).render(macros.context | {"ref": lambda name: name})
    return query


@pytest.mark.parametrize("form", FORMS)
def test_each_form(form: str) -> None:
    """The types that the values have, what a person must say, and a model that compiles."""
    sample = feeds.look(FORMS[form])
    assert (sample.form, sample.has_schema) == (form, False)
    assert sample.connector == ("postgresql" if form == "debezium" else None)
    assert {column.name: column.type for column in sample.columns} == TYPES
    assert {column.name for column in sample.columns if column.question} == ASKED
    files = feeds.generate("orders", ["id"], sample, "orders_events")
    assert list(files) == ["orders.sql", "orders.yml"]
    model = files["orders.sql"]
    assert {name for name in TYPES if f"-- {name}: " in model} == ASKED
    query = rendered(model)
    assert "`__alluvium_4`.`odd name`," in query
    assert "from orders_events as orders" in query
    (made,) = yaml.safe_load(files["orders.yml"])["models"]
    settings = made["config"]["meta"]["alluvium_merge"]
    assert settings["reject_by"] == "_rejected"
    assert ("delete_when" in settings) == ("keep_by" in settings) == (form != "json")
    assert made["config"]["unique_key"] == ["id"]
    *_, undeclared = made["data_tests"]
    arguments = undeclared["alluvium.undeclared_fields"]["arguments"]
    assert arguments["columns"] == list(TYPES)
    assert arguments.get("envelope", True) == (form in ("debezium", "mongodb"))


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "int16"}, "smallint"),
        ({"type": "bytes"}, "binary"),
        ({"type": "int32", "name": "io.debezium.time.Date"}, "date"),
        ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, "timestamp_ntz"),
        ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "timestamp"),
        ({"type": "string", "name": "io.debezium.data.Json"}, "string"),
        (
            {
                "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2", "connect.decimal.precision": "12"},
            },
            "decimal(12,2)",
        ),
        ({"type": "array", "items": {"type": "int32"}}, "array<int>"),
        ({"type": "map", "values": {"type": "string"}}, "map<string,string>"),
        (
            {"type": "struct", "fields": [{"field": "x", "type": "double"}]},
            "struct<`x`:double>",
        ),
    ],
)
def test_a_schema_says_exact_types(schema: dict[str, Any], kind: str) -> None:
    assert of_schema(schema) == (kind, "")


DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"}
MICROS = {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}


def test_where_the_macros_read_no_unit_a_number_stays_one() -> None:
    fields = [MICROS | {"field": "at"}, {"field": "day", "name": "io.debezium.time.Date"}]
    time = "a time inside of it is a number of microseconds since 1970"
    for schema, kind, question in [
        ({"type": "array", "items": MICROS}, "array<timestamp_ntz>", ""),
        (
            {"type": "array", "items": {"type": "array", "items": MICROS}},
            "array<array<bigint>>",
            time,
        ),
        ({"type": "map", "values": MICROS}, "map<string,bigint>", time),
        ({"type": "struct", "fields": fields}, "struct<`at`:bigint,`day`:date>", time),
        (
            {"type": "map", "values": DECIMAL},
            "map<string,string>",
            "a decimal inside of it is a text in base64",
        ),
    ]:
        assert of_schema(schema) == (kind, question)


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    (
        "wide",
        DECIMAL | {"parameters": {"scale": "30", "connect.decimal.precision": "65"}},
        "no decimal has 65 digits and 30 of them behind the point",
    ),
    ("negative", DECIMAL | {"parameters": {"scale": "-2"}}, "no decimal has 38 digits and -2 of"),
    (
        "deep",
        DECIMAL | {"parameters": {"scale": "5", "connect.decimal.precision": "2"}},
        "no decimal has 2 digits and 5 of",
    ),
    ("empty", {"type": "struct", "fields": []}, "an object without fields"),
    ("inner", {"type": "array", "items": {"type": "struct"}}, "an object without fields"),
    ("", {"type": "string"}, "it has no name"),
    ("_op", {"type": "string"}, "the macro adds a column of that name"),
    ("_Key", {"type": "string"}, "the macro adds a column of that name"),
    ("Id", {"type": "int32"}, "its name is id but for the case"),
    ("a\n{% y %}", {"type": "string"}, "dbt would take its name for Jinja"),
]


def test_columns_that_no_model_can_have_are_left_out() -> None:
    odd = [{"field": "c\\new", "type": "string"}, {"field": "it's", "type": "string"}]
    odd += [{"field": "m", "type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}]
    odd += [{"field": "s", "type": "struct", "fields": [{"field": "a`b", "type": "int8"}]}]
    unfit = [kind | {"field": name} for name, kind, _ in UNFIT]
    schema = schema_of(*unfit, {"field": "id", "type": "int32"}, *odd)
    event = {"op": "c", "after": {"id": 1}, "source": SOURCE}
    sample = feeds.look(texts({"schema": schema, "payload": event}))
    files = feeds.generate("orders", ["id"], sample, "orders_events")
    model = files["orders.sql"]
    for name, _, why in UNFIT:
        shown = " ".join(name.split()).replace("{", "{ ") or "''"
        assert f"-- {shown}: {why}" in model
    assert "-- m: a map whose keys are no texts." in model
    query = rendered(model)
    for name in ("id", "c\\new", "it's", "m", "s"):
        assert f"`__alluvium_4`.`{name}`," in query
    assert "struct<`a``b`:" in query
    (made,) = yaml.safe_load(files["orders.yml"])["models"]
    known = made["data_tests"][-1]["alluvium.undeclared_fields"]["arguments"]["columns"]
    assert {"_op", "Id", "wide", "c\\new"} < set(known)
    with pytest.raises(ValueError, match="key: wide: no decimal has 65 digits"):
        feeds.generate("orders", ["wide"], sample, "orders_events")
    # A key stays, whatever comes before it.
    rows = feeds.look(texts({"Id": 1, "ID": 2, "id": 3, "n": 2**70, "huge": 10**40}))
    model = feeds.generate("orders", ["ID"], rows, "orders_events")["orders.sql"]
    assert "ID bigint,\n        n decimal(38,0),\n        huge string'" in model


def test_one_table_of_several() -> None:
    row, other = {"id": 1, "a": 2}, {"uid": 7, "b": "x"}
    events = texts(
        {"op": "c", "after": other, "source": SOURCE | {"table": "returns"}},
        {"op": "c", "after": row, "source": SOURCE},
        {"op": "d", "before": row, "after": None, "source": SOURCE},
    )
    sample = feeds.look(events, "Orders")
    assert [column.name for column in sample.columns] == ["id", "a"]
    files = feeds.generate("Orders", ["id"], sample, "events")
    assert "    table='orders'," in files["Orders.sql"]
    (made,) = yaml.safe_load(files["Orders.yml"])["models"]
    undeclared = made["data_tests"][-1]["alluvium.undeclared_fields"]["arguments"]
    assert (undeclared["table"], undeclared["columns"]) == ("orders", ["id", "a"])
    rendered(files["Orders.sql"])
    with pytest.raises(ValueError, match=r"name: sales: .* tables returns, orders; accepted: the"):
        feeds.look(events, "sales")


def test_a_schema_goes_before_values() -> None:
    schema = schema_of({"field": "id", "type": "int32"}, {"field": "note", "type": "string"})
    event = {"op": "c", "after": {"id": 1, "note": None}, "source": SOURCE}
    sample = feeds.look(texts({"schema": schema, "payload": event}))
    assert (sample.form, sample.has_schema, sample.table) == ("debezium", True, "orders")
    assert [column.ddl for column in sample.columns] == ["id int", "note string"]
    assert "please look" not in feeds.generate("o", ["id"], sample, "b")["o.sql"].lower()


def test_what_cannot_be_generated() -> None:
    with pytest.raises(ValueError, match="no event of the sample is a JSON object"):
        feeds.look(["no", "[]", None])
    sample = feeds.look(FORMS["json"])
    with pytest.raises(ValueError, match="key: no event of the sample has uid; accepted: id, at,"):
        feeds.generate("orders", ["uid"], sample, "orders_events")
