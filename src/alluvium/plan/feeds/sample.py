"""What a sample of events says of its feed: the form, the connector, the columns."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CONNECTORS = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle")
# The types of Kafka Connect's schemas, and the names by which a schema says more.
BY_TYPE = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float": "float",
    "float32": "float", "double": "double", "float64": "double", "boolean": "boolean",
    "string": "string", "bytes": "binary",
}  # fmt: skip
BY_NAME = {
    "io.debezium.time.Date": "date",
    "io.debezium.time.IsoDate": "date",
    "org.apache.kafka.connect.data.Date": "date",
    "io.debezium.time.Timestamp": "timestamp_ntz",
    "io.debezium.time.MicroTimestamp": "timestamp_ntz",
    "io.debezium.time.NanoTimestamp": "timestamp_ntz",
    "io.debezium.time.IsoTimestamp": "timestamp_ntz",
    "org.apache.kafka.connect.data.Timestamp": "timestamp_ntz",
    "io.debezium.time.ZonedTimestamp": "timestamp",
}
# Times that are numbers, and their units.
UNITS = {
    "io.debezium.time.Timestamp": "milliseconds",
    "io.debezium.time.MicroTimestamp": "microseconds",
    "io.debezium.time.NanoTimestamp": "nanoseconds",
    "org.apache.kafka.connect.data.Timestamp": "milliseconds",
}
DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)")
DAY = re.compile(r"\d{4}-\d\d-\d\dZ?")
NUMBER = re.compile(r"-?\d+\.\d+")
BASE64 = re.compile(r"[A-Za-z0-9+/]+={1,2}")
NAME = re.compile(r"[A-Za-z_]\w*")
# What the macros add themselves.
OURS = {
    "_op", "_position", "_committed_at", "_unavailable", "_rejected", "_left_out", "_key", "_value",
    "_headers", "_source_partition", "_source_offset", "_source_timestamp", "_batch_id",
    "_batch_after", "_batch_through",
}  # fmt: skip


@dataclass
class Column:
    """A column with its type, and what a person must say of it; "" where the type is exact.

    Without a type it cannot be one of the model, and `question` says why.
    """

    name: str
    type: str
    question: str = ""

    def __post_init__(self) -> None:
        if why := _unfit(self.name):
            self.type, self.question = "", why

    @property
    def ddl(self) -> str:
        name = self.name if NAME.fullmatch(self.name) else _quoted(self.name)
        return f"{name} {self.type}"


@dataclass
class Sample:
    """A look at some events of a feed.

    Attributes:
        form: `debezium`, `flat`, `mongodb` or `json`.
        connector: Of `debezium`, one of `CONNECTORS`; None where the events do not say it.
        table: The one table of the events; None where none is named.
        is_one_of_many: Whether there are events of other tables.
        has_schema: Whether a schema says the types.
    """

    form: str
    connector: str | None = None
    table: str | None = None
    is_one_of_many: bool = False
    has_schema: bool = False
    columns: list[Column] = field(default_factory=list)


def look(values: Iterable[str | None], name: str = "") -> Sample:
    """What the values of some events say of their feed.

    Args:
        values: Of the events, newest first: their schema counts.
        name: The merged model. It says which table is meant where there are several.

    Raises:
        ValueError: None of them is a JSON object, or they are of several tables without that one.
    """
    events = [event for event in map(_parsed, values) if event is not None]
    if not events:
        raise ValueError("no event of the sample is a JSON object; accepted: events in JSON")
    bodies = [_payload(event) for event in events]
    if not any(map(_is_change, bodies)):
        return _of_rows(events, bodies)
    changes = [event for event in events if _is_change(_payload(event))]
    tables = _tables(changes)
    meant = next(iter(tables), None)
    if len(tables) > 1:
        models = {table.replace(".", "_"): place for place, table in tables.items()}
        meant = next((place for one, place in models.items() if one.lower() == name.lower()), None)
        if meant is None:
            raise ValueError(
                f"name: {name}: the events are of the tables {', '.join(tables.values())};"
                f" accepted: the name of one of them, {' or '.join(models)}, whose model is made"
            )
        changes = [event for event in changes if _table(event) == meant]
    sample = _of_changes(changes, [_payload(event) for event in changes])
    sample.table = None if meant is None else tables[meant]
    sample.is_one_of_many = len(tables) > 1
    return sample


def _is_change(body: Mapping[str, Any]) -> bool:
    return "op" in body and ("after" in body or "before" in body)


def _tables(events: Iterable[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """The tables of events by schema and name, as the macros name them: with both if need be."""
    found = dict.fromkeys(one for event in events if (one := _table(event)))
    names = Counter(name for _, name in found)
    return {(of, name): name if names[name] == 1 else f"{of}.{name}" for of, name in found}


def _table(event: dict[str, Any]) -> tuple[str, str] | None:
    """Schema, or database, and name of the table of an event."""
    source = _payload(event).get("source")
    if not isinstance(source, Mapping):
        return None
    name = source.get("table") or source.get("collection")
    return (str(source.get("schema") or source.get("db")), str(name)) if name else None


def _of_rows(events: Sequence[dict[str, Any]], bodies: Sequence[Mapping[str, Any]]) -> Sample:
    schemas = [event["schema"] for event in events if _is_enveloped(event)]
    is_flat = bool(schemas) or any("__deleted" in body or "__op" in body for body in bodies)
    rows = [{k: v for k, v in body.items() if not k.startswith("__")} for body in bodies]
    columns = _columns(schemas[0] if schemas else None, rows)
    return Sample("flat" if is_flat else "json", has_schema=bool(schemas), columns=columns)


def _of_changes(events: Sequence[dict[str, Any]], changes: Sequence[Mapping[str, Any]]) -> Sample:
    sources = [body["source"] for body in changes if isinstance(body.get("source"), Mapping)]
    connector = _one({source.get("connector") for source in sources})
    images = [body["after"] for body in changes if body.get("after") is not None]
    if connector == "mongodb" or any(isinstance(image, str) for image in images):
        documents = [row for row in map(_parsed, images) if row]
        return Sample("mongodb", columns=_columns(None, documents))
    schemas = [found for event in events if (found := _image_schema(event))]
    rows = [row for row in images if isinstance(row, Mapping)]
    return Sample(
        "debezium",
        connector if connector in CONNECTORS else None,
        has_schema=bool(schemas),
        columns=_columns(schemas[0] if schemas else None, rows),
    )


def _one(found: set[Any]) -> Any:
    """The one that all say; None where they say several."""
    return found.pop() if len(found) == 1 else None


def _parsed(value: Any) -> dict[str, Any] | None:
    try:
        event = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _is_enveloped(event: Mapping[str, Any]) -> bool:
    return isinstance(event.get("schema"), Mapping) and isinstance(event.get("payload"), Mapping)


def _payload(event: dict[str, Any]) -> dict[str, Any]:
    return event["payload"] if _is_enveloped(event) else event


def _image_schema(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    fields = _fields(event["schema"]) if _is_enveloped(event) else []
    return next((one for one in fields if one["field"] == "after"), None)


def _fields(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of a schema that have a name; others no event has a value of."""
    found = schema.get("fields")
    fields = found if isinstance(found, list) else []
    return [one for one in fields if isinstance(one, dict) and isinstance(one.get("field"), str)]


def _columns(schema: Mapping[str, Any] | None, rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    if schema is not None:
        return [
            Column(one["field"], *of_schema(one))
            for one in _fields(schema)
            if not one["field"].startswith("__")
        ]
    names = dict.fromkeys(name for row in rows for name in row)
    return [Column(name, *of_values([row.get(name) for row in rows])) for name in names]


def _unfit(name: str) -> str:
    """Why a model cannot have a column of this name; "" where it can."""
    if not name:
        return "it has no name"
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        return "its name is no text"
    if name.lower() in OURS or "__alluvium" in name.lower():
        return "the macro adds a column of that name"
    return "dbt would take its name for Jinja" if is_jinja(name) else ""


def is_jinja(name: str) -> bool:
    """Whether a text that dbt renders would not stay as it is."""
    return re.search("{[{%#]", name) is not None


def of_schema(schema: Mapping[str, Any], depth: int = 0) -> tuple[str, str]:
    """The type of a schema of Kafka Connect, and what a person must say of it.

    The type is empty where there is none for it.

    Args:
        depth: 0 for a column, 1 for what an array of a column holds. The macros read no unit and no
            scale below that: there a number and a text stay what they are.
    """
    name, kind = schema.get("name"), schema.get("type")
    if depth > 1 and name in UNITS:
        return "bigint", f"a time inside of it is a number of {UNITS[name]} since 1970"
    if depth > 1 and name == DECIMAL:
        return "string", "a decimal inside of it is a text in base64"
    parameters = schema.get("parameters") or {}
    if name == DECIMAL:
        given = (parameters.get("connect.decimal.precision", "38"), parameters.get("scale", "0"))
        if not all(re.fullmatch(r"-?\d+", str(one)) for one in given):
            return "", f"no decimal has {given[0]} digits and {given[1]} of them behind the point"
        precision, scale = (int(str(one)) for one in given)
        if 0 <= scale <= precision <= 38:
            return f"decimal({precision},{scale})", ""
        return "", f"no decimal has {precision} digits and {scale} of them behind the point"
    if name == VARIABLE:
        return "decimal(38,10)", "the source has no scale; say how many digits you need"
    if name in BY_NAME:
        return BY_NAME[name], ""
    if kind in ("array", "map", "struct"):
        return _of_parts(schema, depth)
    return BY_TYPE.get(str(kind), "string"), "" if kind in BY_TYPE else f"unknown type {kind}"


def _of_parts(schema: Mapping[str, Any], depth: int) -> tuple[str, str]:
    if schema["type"] == "array":
        of, question = of_schema(schema.get("items") or {}, depth + 1)
        return f"array<{of}>" if of else "", question
    if schema["type"] == "struct":
        return _of_struct(_fields(schema))
    if (schema.get("keys") or {}).get("type", "string") != "string":
        return "string", "a map whose keys are no texts"
    of, question = of_schema(schema.get("values") or {}, 2)
    return f"map<string,{of}>" if of else "", question


def _of_struct(fields: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    inner = [(one["field"], *of_schema(one, 2)) for one in fields]
    unfit = [why or "a field without a name" for field, of, why in inner if not (field and of)]
    if unfit or not inner:
        return "", unfit[0] if unfit else "an object without fields"
    parts = ",".join(f"{_quoted(field)}:{of}" for field, of, _ in inner)
    return f"struct<{parts}>", next((question for *_, question in inner if question), "")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def of_values(values: Sequence[Any]) -> tuple[str, str]:
    """A type that fits the values, and what a person must say of it."""
    known = [value for value in values if value is not None]
    if not known:
        return "string", "NULL in each event of the sample"
    kinds = {type(value) for value in known}
    if kinds == {bool}:
        return "boolean", ""
    if bool in kinds:
        return "string", "a boolean and something else"
    if kinds == {int}:
        largest = max(abs(value) for value in known)
        if largest >= 2**63:
            return ("decimal(38,0)" if largest < 10**38 else "string"), "larger than a bigint"
        large = largest >= 10**11
        return "bigint", "if it is a time: timestamp, and its unit in timestamps=" if large else ""
    if kinds <= {int, float}:
        return "double", "if each digit counts: decimal(p,s)"
    if kinds == {list}:
        of, question = of_values([one for value in known for one in value])
        return f"array<{of}>", question
    if kinds == {dict}:
        return "string", "an object; struct<…> or map<string,…> takes it apart"
    return _of_texts(known) if kinds == {str} else ("string", "values of several kinds")


def _of_texts(known: Sequence[str]) -> tuple[str, str]:
    kinds = (
        (INSTANT, "timestamp", ""),
        (DAY, "date", ""),
        (NUMBER, "string", "if a number: decimal(p,s)"),
        (BASE64, "string", "base64; if it is a decimal: decimal(p,s), if bytes: binary"),
    )
    for pattern, kind, question in kinds:
        if all(pattern.fullmatch(value) for value in known):
            return kind, question
    return "string", ""
