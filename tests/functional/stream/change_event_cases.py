"""Events as their connectors write them, and what each is to become, worked out by hand.

Nothing here uses the macros: values are those of Debezium's documentation and source (3.2). Events
of PostgreSQL that its connector sent are in `tests/data`, and are merged in
`tests/functional/merge/test_merge_change_events.py`.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from hashlib import md5
from random import Random
from typing import Any
from uuid import UUID

BRONZE = """_key string, _value string, _headers array<struct<key:string,value:binary>>,
    _source_partition string, _source_offset bigint, _source_timestamp timestamp,
    _batch_id bigint"""
PLACEHOLDER = "__debezium_unavailable_value"


# The lines of the table in docs/change-events.md, by their first cells.
ROWS = {
    "row": "`c`, `r` or `u` with `after`",
    "delete": "`d` with `before`, with its key only, or with the message's key only",
    "null": "NULL value",
    "key_change": "a changed key: `d` and `c` of one position",
    "truncate": "`t`, a TRUNCATE",
    "message": "`m`; heartbeats, schema changes, transactions",
    "schema": "`schema` and `payload`, or no schema, mixed",
    "table": "of another table than `table`",
    "placeholder": "the placeholder for a value that did not change",
    "decimal": "a decimal in base64, with its scale, as a text or a number",
    "time": "dates and times of the seven `time.precision.mode`",
    "unit": "a number for a timestamp, with neither schema nor `timestamps`",
    "type": "binary, boolean, JSON, arrays, maps, structs",
    "incremental": "a row of an incremental snapshot",
    # Merged again, see `AGAIN`.
    "again": "events that are delivered again",
    "numbers": "positions of different lengths",
    "position": "positions of SQL Server, of offsets, of your SQL",
    "field": "a field that is not declared; a declared one, the key or the position that is absent",
    "misfit": "a value that does not fit",
    "number": "a number of JSON with any digits, also in arrays and in JSON",
    "json": "not JSON, empty, an array, 20 MB, a field twice, deep nesting",
    "behind": "a second object, or anything else, behind the first",
    "encoding": "a value or a key that is used, with bytes that are no UTF-8",
    "flat": "flat events",
    "plain": "plain JSON",
    "mongodb": "values of MongoDB, v1 and v2, nested",
    "mongodb_update": "`u` of MongoDB with `after` NULL; with `updateDescription`",
}

# What an event becomes that is delivered again only a merge can tell.
AGAIN = ("functional/merge/test_merge_change_events.py", "test_a_feed_of_postgresql")


@dataclass(frozen=True)
class Case:
    """An event and what becomes of it; `row` is one of `ROWS`."""

    row: str
    value: str | None
    expected: dict[str, Any]
    key: str | None = None
    headers: list[tuple[str, bytes]] | None = None
    place: str = "orders-0"


def compact(event: Any) -> str:
    """JSON as Kafka Connect writes it."""
    return json.dumps(event, separators=(",", ":"))


def case(
    row: str,
    event: Any,
    key: Any = None,
    headers: Any = None,
    place: str = "orders-0",
    **expected: Any,
) -> Case:
    """A case; an event that is no text is written as JSON. `reason` and `left_out` are short."""
    value = event if event is None or isinstance(event, str) else compact(event)
    text = key if key is None or isinstance(key, str) else compact(key)
    for short, column in (("reason", "_rejected"), ("left_out", "_left_out")):
        expected[column] = expected.pop(short, None)
    return Case(row, value, expected, text, headers, place)


def postgres(
    op: str = "c",
    after: Any = None,
    before: Any = None,
    sequence: Any = '["100","120"]',
    **more: Any,
) -> dict[str, Any]:
    """An event of Debezium's connector for PostgreSQL."""
    source = {"connector": "postgresql", "snapshot": "false", "table": "orders", "schema": "public"}
    source |= {"lsn": 120, "ts_ms": 1_700_000_000_123} | more.pop("source", {})
    if sequence is not None:
        source["sequence"] = sequence
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": 5, **more}


def in_schema(event: dict[str, Any], **columns: dict[str, Any]) -> dict[str, Any]:
    """The event beside its schema, as the JSON converter writes it by default."""
    fields = [{"type": "int64", "optional": False, "field": "id"}]
    fields += [{"optional": True, "field": name, **schema} for name, schema in columns.items()]
    images = [
        {"type": "struct", "fields": fields, "optional": True, "field": name}
        for name in ("before", "after")
    ]
    schema = {"type": "struct", "fields": [*images, {"type": "string", "field": "op"}]}
    return {"schema": schema, "payload": event}


def of(kind: str, name: str | None = None, **parameters: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": kind}
    if name:
        schema["name"] = name
    if parameters:
        schema["parameters"] = parameters
    return schema


POSTGRES = {
    "connector": "postgresql",
    "key": "id",
    "everything": True,
    "columns": (
        "id bigint, total decimal(12,2), big decimal(38,0), created_at timestamp,"
        " local_at timestamp_ntz, day date, note string, body binary, n int, ratio double,"
        " flag boolean, tags array<string>, counts array<int>, attrs map<string,string>,"
        " point struct<x:double,y:double>, amounts array<decimal(6,2)>, moments array<timestamp>,"
        " longs array<decimal(38,19)>"
    ),
}
AT = dt.datetime(2022, 1, 8, 1, 2, 3, 123456)
MICROS = int((AT - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1))
DECIMAL = "org.apache.kafka.connect.data.Decimal"


def row(**values: Any) -> dict[str, Any]:
    return postgres(after={"id": 1, **values})


def typed(column: str, /, **schema: Any) -> Any:
    return lambda value: in_schema(row(**{column: value}), **{column: of(**schema)})


def in_bytes(number: int) -> str:
    """The number as `java.math.BigInteger` writes it: the fewest bytes, in base64."""
    length = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


def written(text: str, column: str = "big") -> str:
    """An event with a part of JSON as its text says it."""
    return compact(row(**{column: "PART"})).replace('"PART"', text)


def numbers() -> list[Case]:
    """JSON's numbers, drawn and chosen: a double has none of the longer ones."""
    random = Random(7)
    drawn = []
    for digits in (5, 15, 16, 17, 20, 30, 38):
        for scale in {0, 1, digits // 2, digits - 1}:
            number = random.randrange(10 ** (digits - 1), 10**digits) * random.choice((1, -1))
            drawn.append(Decimal(number).scaleb(-scale))
    exact = [Decimal(text) for text in ("0.00001", "1.10", "-12345678.5", "1.0", "100.00")]
    return [
        *[case("number", written(f"{n:f}", "note"), note=f"{n:f}") for n in drawn + exact],
        *[
            case("number", written(f"[{n:f},null]", "longs"), longs=[n, None])
            for n in (*drawn, *exact)
            if 0 < len(f"{n:f}".partition(".")[2]) <= 19 and abs(n) < 10**19
        ],
        *[case("number", written(f'"{n:f}"', "note"), note=f"{n:f}") for n in drawn[:3]],
        case("number", written("1234567890.12", "total"), total=Decimal("1234567890.12")),
        case("number", written("1.23e3", "total"), total=Decimal(1230)),
        case("number", written("1e-400", "total"), reason="wrong_type: total"),
        case("number", written("1e400", "note"), note="1e400"),
        case("number", written("1e400", "ratio"), reason="wrong_type: ratio"),
        case("number", written("0.30000000000000004", "ratio"), ratio=0.30000000000000004),
        case(
            "number",
            written('{"a":[1.10,12345678901234567.123],"b":"x:1.10, \\"2.20"}', "note"),
            note='{"a":[1.10,12345678901234567.123],"b":"x:1.10, \\"2.20"}',
        ),
        case(
            "number",
            written('["x,1.10",1.10,{"a":2.50}]', "tags"),
            tags=["x,1.10", "1.10", '{"a":2.50}'],
        ),
        case(
            "number",
            written('{"x":0.12345678901234567,"y":1.50}', "point"),
            point=(0.12345678901234567, 1.5),
        ),
        case("number", written(compact('{"a":1.10}'), "attrs"), attrs={"a": "1.10"}),
        case(
            "number",
            postgres("u", {"id": 1, "note": "DIGITS"}, before={"id": 1, "x": 1.25e-9}),
            note="DIGITS",
        ),
    ]


POSITIONS = "00000000000000000100/00000000000000000120"
OF_POSTGRES = [
    case(
        "row",
        row(note="a"),
        id=1,
        note="a",
        _op="c",
        _position=POSITIONS,
        _unavailable=None,
        _committed_at=dt.datetime(2023, 11, 14, 22, 13, 20, 123000),
    ),
    case(
        "row",
        postgres("r", {"id": 1}, sequence='[null,"22817960"]', source={"snapshot": "first"}),
        id=1,
        _op="r",
        _position="0" * 20 + "/" + "0" * 20,
    ),
    case("row", postgres("u", {"id": 1, "n": 7}, before={"id": "nonsense"}), id=1, n=7, _op="u"),
    case(
        "row",
        postgres("u", {"id": 1}, sequence='[null,"22817688"]'),
        id=1,
        _position="0" * 20 + "/" + "00000000000022817688",
    ),
    case(
        "incremental",
        postgres(
            "r", {"id": 1}, sequence='["22821848","22821976"]', source={"snapshot": "incremental"}
        ),
        id=1,
        _position="00000000000022821848/" + "0" * 20,
    ),
    case(
        "delete",
        postgres("d", before={"id": 4, "note": "old", "n": "junk"}),
        id=4,
        note=None,
        n=None,
        _op="d",
    ),
    case("delete", postgres("d", before={"id": 4}), id=4, _op="d"),
    case("delete", postgres("d"), {"id": 4}, id=4, _op="d"),
    case("delete", postgres("d"), {"schema": {"type": "struct"}, "payload": {"id": 4}}, id=4),
    case("null", None, {"id": 4}, left_out="tombstone", id=None),
    case(
        "key_change", postgres("d", before={"id": 4}), {"id": 4}, id=4, _op="d", _position=POSITIONS
    ),
    case(
        "key_change",
        postgres("c", {"id": 44, "note": PLACEHOLDER}),
        {"id": 44},
        id=44,
        note=None,
        _op="c",
        _position=POSITIONS,
        _unavailable=["note"],
    ),
    case("truncate", postgres("t"), left_out="truncate"),
    case("message", postgres("m", message={"prefix": "p", "content": "eA=="}), left_out="message"),
    case("message", {"ts_ms": 1_700_000_000_000}, reason="not_an_envelope"),
    case(
        "message",
        {"ddl": "drop table x", "databaseName": "d", "source": {"lsn": 1}},
        reason="not_an_envelope",
    ),
    case(
        "message",
        {"status": "BEGIN", "id": "571:53195829", "event_count": None},
        reason="not_an_envelope",
    ),
    case("message", postgres("x", {"id": 1}), reason="not_an_envelope"),
    case("message", postgres("c", None), reason="not_an_envelope"),
    case("schema", in_schema(row(note="a")), id=1, note="a", _op="c", _position=POSITIONS),
    case("schema", in_schema(postgres("d", before={"id": 9})), id=9, _op="d"),
    # Placeholders ------------------------------------------------------------------------------
    case("placeholder", row(note=PLACEHOLDER, n=3), note=None, n=3, _unavailable=["note"]),
    case(
        "placeholder",
        row(body="X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
        body=None,
        _unavailable=["body"],
    ),
    case(
        "placeholder",
        row(tags=[PLACEHOLDER], note=PLACEHOLDER),
        tags=None,
        _unavailable=["note", "tags"],
    ),
    case(
        "placeholder", row(tags=["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]), _unavailable=["tags"]
    ),
    case("placeholder", row(tags=["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]), _unavailable=["tags"]),
    case(
        "placeholder",
        row(counts=[ord(c) for c in PLACEHOLDER]),
        counts=None,
        _unavailable=["counts"],
    ),
    case("placeholder", row(attrs={PLACEHOLDER: PLACEHOLDER}), attrs=None, _unavailable=["attrs"]),
    case("placeholder", row(attrs=compact({PLACEHOLDER: PLACEHOLDER})), _unavailable=["attrs"]),
    # Decimals ----------------------------------------------------------------------------------
    case("decimal", row(total="BNI="), total=Decimal("12.34")),
    case("decimal", row(total="+y4="), total=Decimal("-12.34")),
    case("decimal", row(total="12.34"), total=Decimal("12.34")),
    case("decimal", row(total=12.5), total=Decimal("12.50")),
    case("decimal", row(total=12345678.0), total=Decimal("12345678.00")),
    case("decimal", row(total=123456789.25), total=Decimal("123456789.25")),
    case("decimal", row(total="-0.10000"), total=Decimal("-0.10")),
    case("decimal", row(total={"scale": 2, "value": "BNI="}), total=Decimal("12.34")),
    case("decimal", row(total={"scale": 4, "value": "AeII"}), total=Decimal("12.34")),
    case("decimal", row(total={"scale": -2, "value": "BNI="}), total=Decimal(123400)),
    case("decimal", row(total={"scale": 3, "value": "EjRW"}), reason="wrong_type: total"),
    case("decimal", row(total="12.345"), reason="wrong_type: total"),
    case("decimal", row(total=12.345), reason="wrong_type: total"),
    case("decimal", row(total="12345678901.00"), reason="wrong_type: total"),
    case("decimal", row(total="NaN"), reason="wrong_type: total"),
    case("decimal", row(total="Infinity"), reason="wrong_type: total"),
    case("decimal", row(total=True), reason="wrong_type: total"),
    case("decimal", row(total="twelve"), reason="wrong_type: total"),
    case("decimal", row(total="1234"), reason="unknown_unit: total"),
    case("decimal", row(total="0"), total=Decimal(0)),
    *[
        case("decimal", row(big=in_bytes(n)), big=Decimal(n))
        for m in (0, 2**31, 2**63 - 1, 2**63, 2**64, 10**37 + 7, 10**38 - 1)
        for n in (m, -m, m + 1 if m < 10**37 else m - 1)
    ],
    case("decimal", row(big=in_bytes(10**38)), reason="wrong_type: big"),
    case("decimal", row(big=in_bytes(-(2**127))), reason="wrong_type: big"),
    case("decimal", row(big=in_bytes(2**200)), reason="wrong_type: big"),
    case(
        "decimal",
        typed("total", kind="bytes", name=DECIMAL, scale="2")("BNI="),
        total=Decimal("12.34"),
    ),
    case(
        "decimal",
        typed("total", kind="bytes", name=DECIMAL, scale="4")("AeII"),
        total=Decimal("12.34"),
    ),
    case(
        "decimal",
        typed("total", kind="bytes", name=DECIMAL, scale="3")("EjRW"),
        reason="wrong_type: total",
    ),
    case(
        "decimal",
        typed("total", kind="bytes", name=DECIMAL, scale="2")("1234"),
        total=Decimal(int.from_bytes(bytes.fromhex("d76df8"), "big", signed=True)) / 100,
    ),
    case("decimal", typed("total", kind="string")("1234"), total=Decimal(1234)),
    case("decimal", typed("total", kind="double")(1234.5), total=Decimal("1234.50")),
    # Times: adaptive, adaptive_time_microseconds and connect say their units by the schema -------
    case(
        "time",
        typed("created_at", kind="int64", name="io.debezium.time.Timestamp")(MICROS // 1000),
        created_at=AT.replace(microsecond=123000),
    ),
    case(
        "time",
        typed("created_at", kind="int64", name="io.debezium.time.MicroTimestamp")(MICROS),
        created_at=AT,
    ),
    case(
        "time",
        typed("created_at", kind="int64", name="io.debezium.time.NanoTimestamp")(
            MICROS * 1000 + 789
        ),
        created_at=AT,
    ),
    case(
        "time",
        typed("created_at", kind="int64", name="io.debezium.time.NanoTimestamp")(-1),
        created_at=dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    case(
        "time",
        typed("created_at", kind="int64", name="org.apache.kafka.connect.data.Timestamp")(
            MICROS // 1000
        ),
        created_at=AT.replace(microsecond=123000),
    ),
    case(
        "time",
        typed("local_at", kind="int64", name="io.debezium.time.MicroTimestamp")(MICROS),
        local_at=AT,
    ),
    case(
        "time",
        typed("local_at", kind="int64", name="io.debezium.time.MicroTimestamp")(-1),
        local_at=dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    case("time", row(created_at="2022-01-08T01:02:03.123456Z"), created_at=AT),
    case("time", row(created_at="2022-01-08T03:02:03.123456789+02:00"), created_at=AT),
    case("time", row(local_at="2022-01-08T01:02:03.123456Z"), local_at=AT),
    case(
        "time",
        row(
            created_at={
                "year": 2022,
                "month": 1,
                "day": 8,
                "hour": 3,
                "minute": 2,
                "second": 3,
                "nanos": 123456789,
                "offsetSeconds": 7200,
                "zoneId": None,
                "specialValue": None,
            }
        ),
        created_at=AT,
    ),
    case(
        "time",
        row(
            local_at={
                "year": 2022,
                "month": 1,
                "day": 8,
                "hour": 1,
                "minute": 2,
                "second": 3,
                "nanos": 123456000,
                "specialValue": None,
            }
        ),
        local_at=AT,
    ),
    case("time", row(day=19000), day=dt.date(2022, 1, 8)),
    case("time", row(day="2022-01-08Z"), day=dt.date(2022, 1, 8)),
    case("time", row(day="2022-01-08"), day=dt.date(2022, 1, 8)),
    case("time", row(day={"year": 2022, "month": 1, "day": 8}), day=dt.date(2022, 1, 8)),
    case("time", row(day="2026"), day=dt.date(1975, 7, 20)),
    case("time", row(day=3_000_000), reason="wrong_type: day"),
    case("time", row(day="2022-02-30"), reason="wrong_type: day"),
    case("time", row(day={"year": 0, "month": 0, "day": 0}), reason="wrong_type: day"),
    # Years beyond 1 to 9999: other engines cannot read them.
    case("time", row(day="0001-01-01"), day=dt.date(1, 1, 1)),
    case("time", row(day="0000-12-31"), reason="wrong_type: day"),
    case("time", row(day={"year": 10000, "month": 1, "day": 1}), reason="wrong_type: day"),
    case(
        "time",
        row(created_at="0001-01-03T00:00:00+05:30"),
        created_at=dt.datetime(1, 1, 2, 18, 30),
    ),
    case(
        "time",
        row(created_at="9999-12-31T23:59:59.999999Z"),
        created_at=dt.datetime.max,
    ),
    *[
        case("time", row(created_at=beyond), reason="wrong_type: created_at")
        for beyond in (
            "0001-01-01T00:00:00+05:30",
            "0000-12-31T23:00:00Z",
            "9999-12-31T23:59:59-05:00",
            {
                "year": 9999,
                "month": 12,
                "day": 31,
                "hour": 23,
                "minute": 59,
                "second": 59,
                "nanos": 0,
                "offsetSeconds": -18000,
            },
        )
    ],
    case("time", row(local_at="0000-12-31T00:00:00"), reason="wrong_type: local_at"),
    case("time", row(created_at="infinity"), reason="wrong_type: created_at"),
    case("time", row(created_at="2022-01-08"), reason="wrong_type: created_at"),
    case(
        "time",
        row(created_at={"year": None, "month": None, "specialValue": "infinity"}),
        reason="wrong_type: created_at",
    ),
    *[
        case(
            "time",
            typed("created_at", kind="int64", name=f"io.debezium.time.{name}")(value),
            reason="wrong_type: created_at",
        )
        for name in ("Timestamp", "MicroTimestamp", "NanoTimestamp")
        for value in (9223372036825200000, -9223372036832400000)
    ],
    *[
        case("decimal", row(total=text), reason="unknown_unit: total")
        for text in ("1E+3", "12E4", "1e10", "+123")
    ],
    case("decimal", row(total="null"), reason="wrong_type: total"),
    *[
        case(
            "decimal",
            typed(name, kind="bytes", name=DECIMAL, scale="0")(text),
            reason=f"wrong_type: {name}",
        )
        for name in ("n", "ratio")
        for text in ("1234", "BNI=")
    ],
    case("decimal", row(total="1E2"), total=Decimal(100)),
    case("decimal", row(total="1.5E+3"), total=Decimal(1500)),
    *numbers(),
    *[
        case("behind", compact(row()) + text, reason="malformed")
        for text in (compact(row(note="b")), " " + compact(row()), "\n" + compact(row()))
    ],
    case("behind", compact(row()) + "," + compact(postgres("m")), reason="malformed"),
    case("behind", compact(postgres("m")) + compact(row()), reason="malformed"),
    case("behind", compact(row()) + " x", reason="malformed"),
    case("behind", compact(row()) + "}", reason="malformed"),
    case("behind", compact(row()) + ',"x":1}', reason="malformed"),
    case("json", compact(row(note="a")) + " \r\n", id=1, note="a"),
    case(
        "encoding",
        written('"M\ufffd"', "note"),
        headers=[("trace", b"1"), ("_value", compact(row(note="M\xfc")).encode("latin-1"))],
        reason="bad_encoding",
    ),
    case("encoding", written('"M\ufffd"', "note"), headers=[("trace", b"1")], note="M\ufffd"),
    case("encoding", row(note="a"), headers=[("_value", b"mine")], note="a"),
    case("encoding", row(), "M\ufffd", headers=[("_key", b"M\xfc")], id=1),
    case("encoding", postgres("d"), "M\ufffd", headers=[("_key", b"M\xfc")], reason="bad_encoding"),
    case(
        "encoding",
        postgres("d", before={"id": 4}),
        "M\ufffd",
        headers=[("_key", b"M\xfc")],
        id=4,
    ),
    case("unit", row(created_at=MICROS), reason="unknown_unit: created_at"),
    case("unit", row(local_at=str(MICROS)), reason="unknown_unit: local_at"),
    # Other types --------------------------------------------------------------------------------
    case("type", row(body="aGk="), body=b"hi"),
    case("type", row(body="not base64!"), reason="wrong_type: body"),
    case("type", row(note={"a": [1, 2]}), note='{"a":[1,2]}'),
    case("type", row(note="a,b", n="7"), note="a,b", n=7),
    case("type", row(flag=True), flag=True),
    case("type", row(flag=0), flag=False),
    case("type", row(flag=2), reason="wrong_type: flag"),
    case("type", row(ratio=1.5), ratio=1.5),
    case("type", row(ratio="-Infinity"), ratio=float("-inf")),
    case("type", row(ratio=1e300), ratio=1e300),
    case("type", row(ratio="1e999"), reason="wrong_type: ratio"),
    case("type", row(ratio="1.5d"), reason="wrong_type: ratio"),
    case("type", row(tags=["a", None, "b"], counts=[1, 2]), tags=["a", None, "b"], counts=[1, 2]),
    case("type", row(tags=[], counts=None), tags=[], counts=None),
    case("type", row(attrs={"a": "1", "b": None}), attrs={"a": "1", "b": None}),
    case("type", row(attrs='{"a":"1"}'), attrs={"a": "1"}),
    case("type", row(point={"x": 1.0, "y": 2.5, "wkb": "AQ=="}), point=(1.0, 2.5)),
    case("type", row(amounts=["1.50", "2.5"]), amounts=[Decimal("1.50"), Decimal("2.50")]),
    case("type", row(moments=["2022-01-08T01:02:03.123456Z"]), moments=[AT]),
    case("type", row(tags="a"), reason="wrong_type: tags"),
    case("type", row(tags={"a": 1}), reason="wrong_type: tags"),
    case("type", row(counts=[1, "x"]), reason="wrong_type: counts"),
    case("type", row(attrs=[1]), reason="wrong_type: attrs"),
    case("type", row(point={"x": "far", "y": 0}), reason="wrong_type: point"),
    case("type", row(point=5), reason="wrong_type: point"),
    case("type", row(amounts=["1.555"]), reason="wrong_type: amounts"),
    # What lacks, what is too much ---------------------------------------------------------------
    case("field", row(colour="red"), id=1, note=None, n=None),
    case("field", postgres("c", {"note": "a"}), reason="missing_key"),
    case("field", postgres("c", {"id": None}), reason="missing_key"),
    case("field", postgres("d", before={"note": 1}), reason="missing_key"),
    case("field", postgres("c", {"id": 1}, sequence=None), reason="missing_position"),
    case("field", postgres("c", {"id": 1}, sequence="[null,null]"), reason="missing_position"),
    case("field", postgres("c", {"id": 1}, sequence='["a","b"]'), reason="missing_position"),
    case("misfit", row(n="seven"), n=None, reason="wrong_type: n"),
    case("misfit", row(n=2**31), reason="wrong_type: n"),
    case("misfit", row(n=1.5), reason="wrong_type: n"),
    case("misfit", row(n=True), reason="wrong_type: n"),
    case("misfit", row(n=[1]), reason="wrong_type: n"),
    case("misfit", postgres("c", {"id": "one"}), reason="wrong_type: id"),
    case("json", "", reason="not_an_envelope"),
    case("json", "   ", reason="not_an_envelope"),
    case("json", "not json", reason="not_an_envelope"),
    case(
        "json", '{"op":"c","after":{"id":1},"source":{"sequence":"[null,', reason="not_an_envelope"
    ),
    case("json", "null", reason="not_an_envelope"),
    case("json", "7", reason="not_an_envelope"),
    case("json", json.dumps([row(), row()]), reason="not_an_envelope"),
    case("json", json.dumps(row()).replace('"id": 1', '"id": 1, "id": 2'), id=2),
    case("json", json.dumps(row(note="x" * 20_000_000)), id=1, note="x" * 20_000_000),
    case("json", '{"a":' * 5000 + "1" + "}" * 5000, reason="not_an_envelope"),
    case("json", json.dumps(row(note="DEEP")).replace('"DEEP"', "[" * 900 + "]" * 900), id=1),
    case("json", postgres("c", 5), reason="not_an_envelope"),
    case("json", postgres("c", {"id": 1}, before=5), id=1),
]


def sourced(op: str = "c", after: Any = None, **source: Any) -> dict[str, Any]:
    """An event of another connector."""
    return {"op": op, "after": after or {"id": 1}, "before": None, "source": {"ts_ms": 1} | source}


def of_connector(connector: str, *events: Case) -> tuple[dict[str, Any], list[Case]]:
    given = {
        "connector": connector,
        "key": "id",
        "columns": "id bigint, total decimal(12,2), note string",
    }
    return given | {"everything": True}, list(events)


def binlog(file: Any, pos: Any, row_: Any, **expected: Any) -> Case:
    return case("numbers", sourced(file=file, pos=pos, row=row_), **expected)


OF_MYSQL = of_connector(
    "mysql",
    binlog(
        "binlog.000009", 123, 0, _position="00000000000000000009/00000000000000000123/0000000000"
    ),
    binlog(
        "binlog.000010", 23, 0, _position="00000000000000000010/00000000000000000023/0000000000"
    ),
    binlog(
        "binlog.000010", 123, 2, _position="00000000000000000010/00000000000000000123/0000000002"
    ),
    binlog(
        "binlog.000010", 123, None, _position="00000000000000000010/00000000000000000123/0000000000"
    ),
    binlog(
        "binlog.1000000", 4, 1, _position="00000000000001000000/00000000000000000004/0000000001"
    ),
    binlog(None, None, 0, reason="missing_position"),
    binlog("binlog.000010", "far", 0, reason="missing_position"),
    case(
        "placeholder",
        sourced(file="b.1", pos=1, row=0, after={"id": 1, "note": PLACEHOLDER}),
        note=None,
        _unavailable=["note"],
    ),
)
OF_MARIADB = of_connector(
    "mariadb",
    case(
        "incremental",
        sourced("r", file="m.000001", pos=700, row=0, snapshot="incremental"),
        _position="00000000000000000001/00000000000000000700/0000000000",
    ),
)
ZERO_LSN = "00000000:00000000:0000"
OF_SQLSERVER = of_connector(
    "sqlserver",
    case(
        "position",
        sourced(
            commit_lsn="00000027:00000758:0005",
            change_lsn="00000027:0000072F:0002",
            event_serial_no="2",
        ),
        _position="00000027:00000758:0005/00000027:0000072f:0002/00000000000000000002",
    ),
    case(
        "position",
        sourced("r", commit_lsn="00000027:00000758:0005", change_lsn=None),
        _position=f"00000027:00000758:0005/{ZERO_LSN}/" + "0" * 20,
    ),
    case("field", sourced(), reason="missing_position"),
    case("field", sourced(commit_lsn="27:758:5"), reason="missing_position"),
)
OF_ORACLE = of_connector(
    "oracle",
    case(
        "numbers",
        sourced(scn="99999999999999999999", commit_scn="100000000000000000000", ssn=3),
        _position="0" * 17
        + "100000000000000000000/"
        + "0" * 18
        + "99999999999999999999/"
        + "0" * 19
        + "3",
    ),
    case(
        "position",
        sourced("r", scn="2115", commit_scn=None),
        _position="0" * 38 + "/" + "0" * 34 + "2115/" + "0" * 20,
    ),
    case("field", sourced(), reason="missing_position"),
)
PLAIN = {"key": "id", "columns": "id bigint, note string", "everything": True}
BY_OFFSET = (
    PLAIN | {"position": "offset", "tombstones": "delete"},
    [
        case("position", sourced(), id=1, _op="c", _position="0000000001/" + "0" * 20),
        case("null", None, {"id": 4}, id=4, _op="d", _position="0000000001/" + "0" * 19 + "1"),
        case("null", None, {"schema": {}, "payload": {"id": 4}}, id=4, _op="d"),
        case("null", None, "4", id=4, _op="d"),
        case("null", None, None, reason="missing_key"),
        case("null", None, {"other": 4}, reason="missing_key"),
        case("null", None, {"id": "four"}, reason="wrong_type: id"),
        case("delete", sourced("d"), {"id": 4}, id=4, _op="d"),
        # Of a topic that was made again.
        *[
            case("position", sourced(), place=f"orders#{made}-3", _position=f"{made:010}/{n:020}")
            for n, made in ((8, 2), (9, 12))
        ],
    ],
)
BY_SQL = (
    PLAIN
    | {
        "position": "source.lsn",
        "log": "if(_source_offset >= 2, 1, 0)",
        "table": "public.orders",
        # Names of the query's own too.
        "fields": "source.lsn bigint, ts_ms bigint, ts_us timestamp, deleted string, hex string,"
        " transaction struct<no:decimal(3,2)>, source.tags array<string>",
    },
    [
        case(
            "position",
            compact(
                sourced(lsn=9, schema="public", table="orders", tags=["a"])
                | {"ts_ms": 77, "ts_us": MICROS, "deleted": [], "hex": "%"}
                | {"transaction": {"no": "%"}}
            ).replace('"%"', "1.10"),
            lsn=9,
            ts_ms=77,
            ts_us=AT,
            deleted="[]",
            hex="1.10",
            transaction=(Decimal("1.10"),),
            tags=["a"],
            _position="0000000000/" + "0" * 37 + "9",
        ),
        case(
            "position",
            sourced(lsn=10, schema="public", table="orders"),
            lsn=10,
            ts_ms=None,
            _position="0000000000/" + "0" * 36 + "10",
        ),
        case(
            "position",
            sourced(lsn=3, schema="public", table="orders"),
            _position="0000000001/" + "0" * 37 + "3",
        ),
        case("table", sourced(lsn=3, schema="public", table="other"), left_out="other_table"),
        case("table", sourced(lsn=3, schema="secret", table="orders"), left_out="other_table"),
        case("table", sourced("t", lsn=3, schema="public", table="other"), left_out="other_table"),
        case("table", sourced("t", lsn=3, schema="public", table="orders"), left_out="truncate"),
        case(
            "position",
            sourced(lsn=-3, schema="public", table="orders"),
            _position="0000000001/-" + "9" * 37 + "6",
        ),
        *[
            case(
                "position",
                sourced(lsn=n, schema="public", table="orders"),
                reason="missing_position",
            )
            for n in (9.5, 1e10, "1E3", 10**39)
        ],
        case(
            "position",
            sourced(lsn="0/16B3748", schema="public", table="orders"),
            _position="0000000001/0/16B3748",
            reason="wrong_type: lsn",
        ),
        case("field", sourced(schema="public", table="orders"), reason="missing_position"),
        case(
            "misfit",
            sourced(lsn=1, schema="public", table="orders") | {"ts_ms": "soon"},
            reason="wrong_type: ts_ms",
        ),
    ],
)
MODES = (
    {
        "connector": "postgresql",
        "key": "id",
        "everything": True,
        "decimals": {"total": "precise", "price": "string"},
        "timestamps": {"a": "microseconds", "b": "nanoseconds", "c": "connect", "d": "adaptive"},
        "binary": {"h": "hex", "u": "base64-url-safe"},
        "columns": "id bigint, total decimal(12,2), price decimal(8,0), a timestamp,"
        " b timestamp_ntz, c timestamp, d timestamp, h binary, u binary",
    },
    [
        case("time", row(a=MICROS), a=AT),
        case("time", row(b=MICROS * 1000 + 999), b=AT),
        case("time", row(c=MICROS // 1000), c=AT.replace(microsecond=123000)),
        case(
            "time",
            row(a=0, b=-1),
            a=dt.datetime(1970, 1, 1),
            b=dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        ),
        case("time", row(b=9223372036825200000), reason="wrong_type: b"),
        case("unit", row(d=MICROS), reason="unknown_unit: d"),
        # A schema beside the event knows better.
        case(
            "time",
            in_schema(row(a=MICROS // 1000), a=of("int64", "io.debezium.time.Timestamp")),
            a=AT.replace(microsecond=123000),
        ),
        case(
            "decimal",
            row(total="1234"),
            total=Decimal(int.from_bytes(bytes.fromhex("d76df8"), "big", signed=True)) / 100,
        ),
        case("decimal", row(total="12.34"), reason="wrong_type: total"),
        case("decimal", row(price="1234"), price=Decimal(1234)),
        case("type", row(h="6869"), h=b"hi"),
        case("type", row(h="686"), reason="wrong_type: h"),
        case("type", row(u="-_-_"), u=bytes.fromhex("fbffbf")),
    ],
)
OTHER = "not sent: é"
OTHER_TEXT = (
    {
        "connector": "postgresql",
        "key": "id",
        "everything": True,
        "unavailable": OTHER,
        "binary": {"h": "hex"},
        "columns": "id bigint, note string, body binary, h binary, tags array<string>,"
        " counts array<int>, longs array<bigint>, attrs map<string,string>",
    },
    [
        *[
            case("placeholder", row(**{column: value}), _unavailable=[column], **{column: None})
            for column, value in (
                ("note", OTHER),
                ("body", base64.b64encode(OTHER.encode()).decode()),
                ("h", OTHER.encode().hex()),
                ("tags", [OTHER]),
                ("tags", [base64.b64encode(OTHER.encode()).decode()]),
                ("tags", [str(UUID(bytes=md5(OTHER.encode()).digest(), version=3))]),
                ("counts", list(OTHER.encode())),
                ("longs", list(OTHER.encode())),
                ("attrs", {OTHER: OTHER}),
            )
        ],
        # Debezium's own text is a value then.
        case("placeholder", row(note=PLACEHOLDER), note=PLACEHOLDER, _unavailable=None),
        case("placeholder", row(tags=[PLACEHOLDER]), tags=[PLACEHOLDER], _unavailable=None),
    ],
)
FLAT = (
    {
        "flat": True,
        "key": "id",
        "columns": "id bigint, note string, at timestamp",
        "everything": True,
    },
    [
        case(
            "flat",
            {"id": 1, "note": "a"},
            {"id": 1},
            id=1,
            note="a",
            _op="u",
            _position="0000000001/" + "0" * 20,
        ),
        case(
            "flat",
            {"id": 1, "note": "a", "__op": "c", "__deleted": "false", "__source_ts_ms": 1000},
            id=1,
            _op="c",
            _committed_at=dt.datetime(1970, 1, 1, 0, 0, 1),
        ),
        case("flat", {"id": 1, "note": "a", "__deleted": "true"}, id=1, note=None, _op="d"),
        case("null", None, {"id": 1}, id=1, _op="d"),
        case(
            "schema",
            {
                "schema": {
                    "type": "struct",
                    "fields": [of("int64", "io.debezium.time.MicroTimestamp") | {"field": "at"}],
                },
                "payload": {"id": 1, "at": MICROS},
            },
            id=1,
            at=AT,
        ),
        case("unit", {"id": 1, "at": MICROS}, reason="unknown_unit: at"),
        case("placeholder", {"id": 1, "note": PLACEHOLDER}, note=None, _unavailable=["note"]),
        *[
            case("flat", {"id": 1, "note": "outer"} | more, id=1, note="outer")
            for more in (
                {"payload": {"id": 99, "note": "inner"}},
                {"payload": '{"id":99}'},
                {"payload": [1, 2], "schema": "public"},
                {"payload": {"id": 99}, "schema": "public"},
                {"schema": {"type": "struct"}},
            )
        ],
        case("schema", {"payload": {"id": 7}, "schema": {"type": "struct"}, "id": 8}, id=7),
        case("json", {}, reason="missing_key"),
        case("behind", '{"id":1}{"id":2}', reason="malformed"),
        case("behind", '{"id":1}{}', reason="malformed"),
        case("json", "no", reason="malformed"),
        case("field", {"note": "a"}, reason="missing_key"),
    ],
)
JSON = (
    {
        "macro": "json",
        "columns": "id bigint, total decimal(12,2), at timestamp,"
        " s struct<a:int,`b c`:array<date>>",
        "everything": True,
    },
    [
        case(
            "plain",
            {"id": 1, "total": 8, "at": "2022-01-08T01:02:03.123456Z"},
            id=1,
            total=Decimal(8),
            at=AT,
            _op="u",
        ),
        case("plain", {"total": "8.125"}, reason="wrong_type: total"),
        case(
            "plain",
            {"s": {"a": 1, "b c": ["2022-01-08", None]}},
            s=(1, [dt.date(2022, 1, 8), None]),
        ),
        case("plain", {"s": {"a": "x"}}, s=None, reason="wrong_type: s"),
        case("plain", {"s": {}}, s=(None, None)),
        case("plain", {}, id=None),
        case("json", '{"id": 1', reason="malformed"),
        case("json", "[]", reason="malformed"),
        case("json", '[{"id": 1}]', reason="malformed"),
        *[
            case("behind", '{"id":1}' + text, reason="malformed")
            for text in ('{"id":2}', ' {"id":2}', '\n{"id":2}', ',{"id":2}', " x", ",", "]", "}")
        ],
        case(
            "number",
            '{"total":1234567890.12,"s":{"a":1}}',
            total=Decimal("1234567890.12"),
            s=(1, None),
        ),
        case("json", "{ }", id=None),
        case("json", "", reason="malformed"),
        case("null", None, left_out="tombstone"),
        case("unit", {"at": 5}, reason="unknown_unit: at"),
    ],
)
JSON_KEYED = (
    {
        "macro": "json",
        "key": "id",
        "columns": "id string, n int",
        "tombstones": "delete",
        "everything": True,
    },
    [
        case("plain", {"id": "a", "n": 1}, "a", id="a", n=1, _op="u"),
        case("null", None, "a", id="a", n=None, _op="d"),
        case("null", None, {"id": "a"}, id="a", _op="d"),
        *[
            case("null", None, key, id=bare, _op="d")
            for key, bare in (
                ('"a\\"b"', 'a"b'),
                ('"\\u00fc"', "\u00fc"),
                (' "5" ', "5"),
                ("5", "5"),
                ('5"', '5"'),
                ('"', '"'),
                ('"a"b"', '"a"b"'),
            )
        ],
        case("null", None, '{"id":"a"}{"id":"b"}', reason="missing_key"),
        case("field", {"n": 1}, reason="missing_key"),
    ],
)


def document(mode: str, op: str = "c", key: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "op": op,
        "after": json.dumps({"_id": {"$oid": "5f" * 12}} | fields),
        "before": None,
        "source": {"collection": "users", "db": "shop", "ts_ms": 1},
    }


OID = "5f" * 12
OID_KEY = {"id": json.dumps({"$oid": OID})}
BORN = 1783101585729
AT_MS = dt.datetime(2026, 7, 3, 17, 59, 45, 729000)
BSON: dict[str, dict[str, Any]] = {
    "strict": {
        "n": {"$numberLong": "7"},
        "i": 7,
        "x": 1.5,
        "d": {"$numberDecimal": "12.34"},
        "at": {"$date": BORN},
        "b": {"$binary": "aGk=", "$type": "00"},
        "ids": [{"$oid": OID}],
        "s": {"at": {"$date": BORN}, "n": {"$numberLong": "7"}},
    },
    "extended": {
        "n": {"$numberLong": "7"},
        "i": {"$numberInt": "7"},
        "x": {"$numberDouble": "1.5"},
        "d": {"$numberDecimal": "12.34"},
        "at": {"$date": {"$numberLong": str(BORN)}},
        "b": {"$binary": {"base64": "aGk=", "subType": "00"}},
        "ids": [{"$oid": OID}],
        "s": {"at": {"$date": {"$numberLong": str(BORN)}}, "n": {"$numberLong": "7"}},
    },
    "relaxed": {
        "n": 7,
        "i": 7,
        "x": 1.5,
        "d": {"$numberDecimal": "12.34"},
        "at": {"$date": "2026-07-03T17:59:45.729Z"},
        "b": {"$binary": {"base64": "aGk=", "subType": "00"}},
        "ids": [{"$oid": OID}],
        "s": {"at": {"$date": "2026-07-03T17:59:45.729Z"}, "n": 7},
    },
}
BSON["legacy"] = BSON["strict"]
MONGODB = (
    {
        "macro": "mongodb",
        "everything": True,
        "table": "users",
        "unavailable": OTHER,
        "columns": "_id string, n bigint, i int, x double, d decimal(10,2), at timestamp,"
        " b binary, ids array<string>, s struct<at:timestamp,n:bigint>, t string,"
        " w array<decimal(38,3)>",
    },
    [
        *[
            case(
                "mongodb",
                document(mode, **fields),
                OID_KEY,
                _id=OID,
                n=7,
                i=7,
                x=1.5,
                d=Decimal("12.34"),
                at=AT_MS,
                b=b"hi",
                ids=[OID],
                s=(AT_MS, 7),
                _op="c",
                _position="0000000001/" + f"{i:020}",
            )
            for i, (mode, fields) in enumerate(BSON.items())
        ],
        case("mongodb", in_schema(document("strict", n=7)), _id=OID, n=7),
        case("mongodb", document("strict", _id=5), _id="5"),
        case(
            "delete", document("strict", "d") | {"after": None}, OID_KEY, _id=OID, _op="d", n=None
        ),
        case(
            "mongodb_update",
            document("strict", "u") | {"after": None},
            OID_KEY,
            left_out="deleted_since",
        ),
        case(
            "mongodb_update",
            document("strict", "u")
            | {"after": None, "updateDescription": {"updatedFields": '{"n": 1}'}},
            OID_KEY,
            reason="no_full_document",
        ),
        # Deleted before its look-up, as the connector writes it.
        case(
            "mongodb_update",
            document("strict", "u")
            | {
                "after": None,
                "updateDescription": {
                    "removedFields": None,
                    "updatedFields": '{"n": {"$numberLong": "8"}}',
                    "truncatedArrays": None,
                },
                "wallTime": BORN,
            },
            OID_KEY,
            reason="no_full_document",
        ),
        case(
            "table",
            document("strict") | {"source": {"collection": "other"}},
            left_out="other_table",
        ),
        case("misfit", document("strict", n="x"), reason="wrong_type: n"),
        case("misfit", document("strict", d={"$numberDecimal": "NaN"}), reason="wrong_type: d"),
        case("misfit", document("strict", b="aGk="), reason="wrong_type: b"),
        *[
            case("behind", document("strict") | {"after": text}, reason="malformed")
            for text in ("no json", '{"_id":1}{"_id":2}', '{"_id":1} x')
        ],
        *[
            case("mongodb", document("strict", _id=5, t=text), _id="5", t=text)
            for text in ('{"$oid":"x"}', '{ "$oid" : "x"}', "a:b")
        ],
        case("mongodb", document("strict", _id=5, t={"$oid": "x", "y": 1}), t='{"$oid":"x","y":1}'),
        case("mongodb", document("strict", _id=5, t={"$symbol": "a{b:c}"}), t="a{b:c}"),
        case(
            "mongodb",
            document("strict", _id=5, t={"$foo": '{"$oid":"x"}'}),
            t=compact({"$foo": '{"$oid":"x"}'}),
        ),
        case(
            "number",
            document("strict") | {"after": '{"_id":5,"t":1.10,"w":[1234567890123456.789]}'},
            t="1.10",
            w=[Decimal("1234567890123456.789")],
        ),
        case("null", None, OID_KEY, left_out="tombstone"),
        case("placeholder", document("strict", t=OTHER), t=None, _unavailable=["t"]),
        case("placeholder", document("strict", t=PLACEHOLDER), t=PLACEHOLDER, _unavailable=None),
    ],
)


def of_key(form: str, first: str, other: str, values: list[Any], **given: Any) -> dict[str, Any]:
    """A group of events of one key: a row, its deletes, and the key that it is changed to.

    The first and the other text are a part of JSON, `values` what they are.
    """
    events = []
    for text, value in zip((first, other), values, strict=True):
        key, image = f'{{"id":{text}}}', f'{{"id":{text}}}'
        in_order = (
            ("row", "c", image, "null", key),
            ("delete", "d", "null", image, key),
            ("delete", "d", "null", image, None),
            ("delete", "d", "null", "null", key),
            ("key_change", "d", "null", image, key),
            ("key_change", "c", image, "null", key),
        )
        for line, op, after, before, of_message in in_order:
            event = compact(postgres(op, "AFTER", "BEFORE"))
            event = event.replace('"AFTER"', after).replace('"BEFORE"', before)
            schemas = (False, True) if given.get("schema") else (False,)
            for schema in schemas:
                whole = event
                if schema:
                    columns = [given["schema"] | {"field": "id"}]
                    images = [
                        {"field": "before", "fields": columns},
                        {"field": "after", "fields": columns},
                    ]
                    whole = f'{{"schema":{compact({"fields": images})},"payload":{event}}}'
                    of_message = of_message and f'{{"schema":{{}},"payload":{of_message}}}'
                events.append(case(line, whole, of_message, id=value, _op=op))
    arguments = {
        "connector": "postgresql",
        "key": "id",
        "columns": f"id {form}",
        "everything": True,
    }
    return {"arguments": arguments | given.get("more", {}), "events": events}


_BYTES = of("bytes", DECIMAL, scale="0")
OF_KEYS = [
    of_key(
        "decimal(38,0)",
        '"BNI="',
        f'"{in_bytes(-(10**30))}"',
        [Decimal(1234), Decimal(-(10**30))],
        schema=_BYTES,
    ),
    of_key(
        "decimal(38,0)",
        '"1234"',
        '"AA=="',
        [Decimal(int.from_bytes(bytes.fromhex("d76df8"), "big", signed=True)), Decimal(0)],
        more={"decimals": "precise"},
    ),
    of_key(
        "decimal(38,0)",
        '{"scale":0,"value":"BNI="}',
        '{"scale":-2,"value":"BNI="}',
        [Decimal(1234), Decimal(123400)],
    ),
    of_key(
        "decimal(38,3)",
        "1234567890123456789.125",
        '"12.5"',
        [Decimal("1234567890123456789.125"), Decimal("12.5")],
    ),
    of_key("array<int>", "[1,2]", "[]", [[1, 2], []]),
    of_key(
        "array<decimal(38,1)>",
        "[1.5]",
        "[12345678901234567.5]",
        [[Decimal("1.5")], [Decimal("12345678901234567.5")]],
    ),
    of_key("string", '"a\\"b"', "1.10", ['a"b', "1.10"]),
    of_key("binary", '"aGk="', '"/w=="', [b"hi", b"\xff"]),
    of_key(
        "timestamp",
        "1700000000000000",
        "-1",
        [dt.datetime(2023, 11, 14, 22, 13, 20), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)],
        more={"timestamps": "microseconds"},
    ),
]
FLAT_KEY = (
    {"flat": True, "key": "id", "columns": "id decimal(38,0)", "everything": True},
    [
        case("flat", {"id": "BNI="}, {"id": "BNI="}, id=Decimal(1234), _op="u"),
        case(
            "flat", {"id": "BNI=", "__deleted": "true"}, {"id": "BNI="}, id=Decimal(1234), _op="d"
        ),
        case("null", None, {"id": "BNI="}, id=Decimal(1234), _op="d"),
        case("null", None, {"schema": {}, "payload": {"id": "BNI="}}, id=Decimal(1234), _op="d"),
        case("null", None, {"id": {"scale": 0, "value": "BNI="}}, id=Decimal(1234), _op="d"),
    ],
)
FLAT_BY_SQL = (
    PLAIN | {"flat": True, "position": "__source_lsn", "tombstones": "skip"},
    [
        case("position", {"id": 1, "__source_lsn": 9}, id=1, _position="0" * 37 + "9"),
        case("number", {"id": 1, "note": 1.5, "__source_lsn": 10}, _position="0" * 36 + "10"),
        case("schema", {"schema": {"type": "struct"}, "payload": {"id": 1, "__source_lsn": 7}},
             _position="0" * 37 + "7"),
        case("field", {"id": 1}, reason="missing_position"),
        case("null", None, {"id": 1}, left_out="tombstone"),
    ],
)  # fmt: skip
LOGS = {
    f"log {log}": (
        PLAIN | {"position": "offset", "log": str(log)},
        [case("position", sourced(), _position=f"{text}/0000000001/" + "0" * 20)],
    )
    for log, text in {
        -2: "-9999999999999999997",
        1763798400123: "p0000001763798400123",
    }.items()
}

GROUPS: dict[str, tuple[dict[str, Any], list[Case]]] = {
    "postgresql": (POSTGRES, OF_POSTGRES),
    "mysql": OF_MYSQL,
    "mariadb": OF_MARIADB,
    "sqlserver": OF_SQLSERVER,
    "oracle": OF_ORACLE,
    "by_offset": BY_OFFSET,
    "by_sql": BY_SQL,
    "modes": MODES,
    "other text": OTHER_TEXT,
    "flat": FLAT,
    "json": JSON,
    "json_keyed": JSON_KEYED,
    "mongodb": MONGODB,
    **{f"key {n}": (one["arguments"], one["events"]) for n, one in enumerate(OF_KEYS)},
    "flat_key": FLAT_KEY,
    "flat_by_sql": FLAT_BY_SQL,
    **LOGS,
}
