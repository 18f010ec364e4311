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
    macros = Macros()
    macros.context["alluvium"]["new_events"] = lambda events, merged: f"{events} as {merged}"
    environment, _ = compiled_macros()
    query = environment.from_string(model).render(macros.context | {"ref": lambda name: name})
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
