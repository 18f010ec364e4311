"""Events that models are written from, and what those are to read of them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from support.rendered import Macros, compiled_macros


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
SOURCE = {"connector": "postgresql", "table": "orders", "sequence": '["1","2"]'}
FORMS = {
    "debezium": texts({"op": "c", "after": ROW, "source": SOURCE}, {"ts_ms": 1}),
    "mongodb": texts({"op": "c", "after": json.dumps(ROW), "source": {"connector": "mongodb"}}),
    "flat": texts(ROW | {"__deleted": "false", "__op": "c"}),
    "json": [*texts(ROW), "no json"],
}

# As each of them is read.
VALUES = ROW | {
    "at": dt.datetime(2022, 1, 8, 1, 2, 3), "day": dt.date(2022, 1, 8), "o": '{"a":1}',
}  # fmt: skip

DECIMAL: dict[str, Any] = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"}
MICROS: dict[str, Any] = {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}
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


def of_odd_columns() -> list[str]:
    """An event beside its schema, with columns that no model can have, and names that one can."""
    odd = [{"field": "c\\new", "type": "string"}, {"field": "it's", "type": "string"}]
    odd += [{"field": "m", "type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}]
    odd += [{"field": "s", "type": "struct", "fields": [{"field": "a`b", "type": "int8"}]}]
    unfit = [kind | {"field": name} for name, kind, _ in UNFIT]
    schema = schema_of(*unfit, {"field": "id", "type": "int32"}, *odd)
    row = {"id": 1, "c\\new": "x", "it's": "y", "m": [[1, 2]], "s": {"a`b": 3}}
    return texts({"schema": schema, "payload": {"op": "c", "after": row, "source": SOURCE}})


AT = dt.datetime(2022, 1, 8, 1, 2, 3, 456000)
MILLIS = int(AT.replace(tzinfo=dt.UTC).timestamp() * 1000)
DAY, DAYS = AT.date(), MILLIS // 86_400_000
DATE: dict[str, Any] = {"type": "int32", "name": "io.debezium.time.Date"}
STRUCT: dict[str, Any] = {
    "type": "struct",
    "fields": [MICROS | {"field": "at"}, DATE | {"field": "day"}],
}
# Schemas of fields, with what JSON has there and what that is.
TYPED: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "int64"}, 1, 1),
    ({"type": "int16"}, 7, 7),
    ({"type": "float"}, 1.5, 1.5),
    ({"type": "bytes"}, "aGk=", b"hi"),
    (DATE, DAYS, DAY),
    ({"type": "string", "name": "io.debezium.time.IsoDate"}, "2022-01-08Z", DAY),
    ({"type": "int64", "name": "io.debezium.time.Timestamp"}, MILLIS, AT),
    (MICROS, MILLIS * 1000, AT),
    ({"type": "int64", "name": "io.debezium.time.NanoTimestamp"}, MILLIS * 10**6, AT),
    ({"type": "string", "name": "io.debezium.time.IsoTimestamp"}, "2022-01-08T01:02:03.456Z", AT),
    ({"type": "string", "name": "io.debezium.time.ZonedTimestamp"}, "2022-01-08T02:02:03.456+01:00",
     AT),
    ({"type": "string", "name": "io.debezium.data.Json"}, '{"a":1}', '{"a":1}'),
    (DECIMAL | {"parameters": {"scale": "2", "connect.decimal.precision": "12"}}, "BNI=",
     Decimal("12.34")),
    ({"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
     {"scale": 2, "value": "BNI="}, Decimal("12.34")),
    ({"type": "array", "items": {"type": "int32"}}, [1, None], [1, None]),
    ({"type": "array", "items": MICROS}, [MILLIS * 1000], [AT]),
    ({"type": "array", "items": {"type": "array", "items": MICROS}}, [[5]], [[5]]),
    ({"type": "array", "items": STRUCT}, [{"at": 5, "day": DAYS}], [(5, DAY)]),
    ({"type": "map", "values": {"type": "string"}}, {"a": "b"}, {"a": "b"}),
    ({"type": "map", "values": MICROS}, {"a": 5}, {"a": 5}),
    ({"type": "map", "values": DECIMAL}, {"a": "BNI="}, {"a": "BNI="}),
    (STRUCT, {"at": 5, "day": DAYS}, (5, DAY)),
]  # fmt: skip
_FIELDS = [schema | {"field": f"c{n}"} for n, (schema, _, _) in enumerate(TYPED)]
_IMAGE = {f"c{n}": value for n, (_, value, _) in enumerate(TYPED)}
_ENVELOPE = {"op": "c", "after": _IMAGE, "source": SOURCE}
# By form: events, the key, and the row of the first one.
BUILT: dict[str, tuple[list[str], str, dict[str, Any]]] = {
    **{form: (events, "id", VALUES) for form, events in FORMS.items()},
    "schema": (
        texts({"schema": schema_of(*_FIELDS), "payload": _ENVELOPE}),
        "c0",
        {f"c{n}": value for n, (*_, value) in enumerate(TYPED)},
    ),
    "flat schema": (
        texts({"schema": {"type": "struct", "fields": _FIELDS}, "payload": _IMAGE}),
        "c0",
        {f"c{n}": value for n, (*_, value) in enumerate(TYPED)},
    ),
    "odd names": (
        of_odd_columns(),
        "id",
        {"id": 1, "c\\new": "x", "it's": "y", "m": "[[1,2]]", "s": (3,)},
    ),
    "one of several": (
        [*texts({"op": "c", "after": {"id": 1, "b": "x"}, "source": SOURCE}),
         *texts({"op": "c", "after": {"uid": 7}, "source": SOURCE | {"table": "returns"}})],
        "id",
        {"id": 1, "b": "x"},
    ),
    "no connector": (
        texts({"op": "c", "after": {"id": 1, "b": "x"}}),
        "id",
        {"id": 1, "b": "x"},
    ),
}  # fmt: skip


def rendered(
    model: str,
    new_events: Callable[[str, str], str] = lambda events, merged: f"{events} as {merged}",
) -> str:
    macros = Macros()
    macros.context["alluvium"]["new_events"] = new_events
    environment, _ = compiled_macros()
    query: str = environment.from_string(model).render(macros.context | {"ref": lambda name: name})
    return query
