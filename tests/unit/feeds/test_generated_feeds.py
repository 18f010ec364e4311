"""What a sample of events says of its feed, and the models that are written from it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from unit.feeds.samples import (
    ASKED,
    DECIMAL,
    FORMS,
    MICROS,
    SOURCE,
    TYPES,
    UNFIT,
    of_odd_columns,
    rendered,
    schema_of,
    texts,
)

from alluvium.plan import feeds
from alluvium.plan.feeds.sample import of_schema


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
    # Delta stores a name with a blank under another one.
    assert made["config"]["tblproperties"] == {"delta.columnMapping.mode": "name"}
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


def test_columns_that_no_model_can_have_are_left_out() -> None:
    sample = feeds.look(of_odd_columns())
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
    # Two schemas may have a table of one name.
    both = texts(
        *({"op": "c", "after": row, "source": SOURCE | {"schema": of}} for of in ("new", "old"))
    )
    with pytest.raises(
        ValueError, match=r"tables new\.orders, old\.orders; .* new_orders or old_ord"
    ):
        feeds.look(both, "orders")
    assert feeds.look(both, "old_orders").table == "old.orders"
    with pytest.raises(ValueError, match=r"name: sales: .* tables returns, orders; accepted: the"):
        feeds.look(events, "sales")


def test_odd_schemas_stop_nothing() -> None:
    """The newest schema counts. What has no name, or no digits, is left out or asked."""
    body = {"op": "c", "after": {"id": 1}, "source": SOURCE}
    name = "org.apache.kafka.connect.data.Decimal"
    decimal = {"field": "d", "name": name, "type": "bytes", "parameters": {"scale": "x"}}
    odd = [{"type": "int32"}, None, {"field": "\ud800", "type": "int32"}, decimal]
    newer = schema_of({"field": "id", "type": "int64"}, *odd)
    older = schema_of({"field": "id", "type": "int32"})
    deep = '{"a":' * 100_000
    events = [deep, *texts(*({"schema": one, "payload": body} for one in (newer, older)))]
    sample = feeds.look(events)
    assert [(one.name, one.type) for one in sample.columns] == [
        ("id", "bigint"), ("\ud800", ""), ("d", ""),
    ]  # fmt: skip
    assert "its name is no text" in feeds.generate("orders", ["id"], sample, "e")["orders.sql"]


@pytest.mark.parametrize(
    ("row", "is_mapped"),
    [
        ({"a.b": 1, "it's": 2, "ü": [3]}, False),
        *(({f"a{sign}b": 1}, True) for sign in " ,;{}()\n\t="),
    ],
)
def test_names_that_delta_maps(row: dict[str, Any], is_mapped: bool) -> None:
    """Of columns, and of fields inside them."""
    schema = schema_of(
        {"field": "id", "type": "int32"},
        {
            "field": "s",
            "type": "struct",
            "fields": [{"field": name, "type": "int32"} for name in row],
        },
    )
    inside = texts({"schema": schema, "payload": {"op": "c", "after": None, "source": SOURCE}})
    for events in (texts({"id": 1} | row), inside):
        made = feeds.generate("orders", ["id"], feeds.look(events), "bronze")["orders.yml"]
        (model,) = yaml.safe_load(made)["models"]
        assert ("tblproperties" in model["config"]) == is_mapped


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
