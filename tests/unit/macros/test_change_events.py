"""The macros of change events without Spark: what they refuse, what types they know."""

from __future__ import annotations

from typing import Any

import pytest

ORDERS = {"columns": "id bigint, note string", "key": "id", "connector": "postgresql"}


def rendered(macros: Any, macro: str = "debezium", **given: Any) -> str:
    arguments = {name: value for name, value in (ORDERS | given).items() if value is not ...}
    return str(getattr(macros, macro)("bronze", **arguments))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"connector": "postgres"}, "connector is postgres; accepted: postgresql, mysql, mariadb,"),
        ({"connector": "postgresq"}, "did you mean postgresql?"),
        ({"connector": "mongodb"}, "for MongoDB use alluvium.mongodb"),
        ({"connector": None}, "nothing says the order of the events; accepted: connector ("),
        ({"position": "offset"}, "connector and position are both set; accepted: one of them"),
        ({"flat": True}, "connector is set, and flat events have no envelope"),
        ({"tombstones": "delete"}, "tombstones is delete, and a tombstone has no position"),
        (
            {"tombstones": "delete", "connector": None, "position": "source.lsn"},
            "tombstones is delete, and a tombstone has no position but its offset; accepted: tomb",
        ),
        (
            {"flat": True, "connector": None, "position": "__lsn"},
            "tombstones is delete unless you say otherwise, and a tombstone has no position",
        ),
        (
            {"flat": True, "connector": None, "position": "coalesce(source.lsn, __lsn)"},
            "flat events have no envelope; accepted: offset, or SQL over fields that begin with __",
        ),
        ({"key": "uid"}, "key names uid, which is not among the columns; accepted: id, note"),
        ({"key": []}, "key is missing; accepted: a column, or a list of columns"),
        (
            {"columns": "id bigint, note text"},
            "columns has note text; accepted: a name and its type",
        ),
        ({"columns": "id bigint, x decimal(39,2)"}, "columns has x decimal(39,2)"),
        ({"columns": "id bigint, x map<int,string>"}, "columns has x map<int,string>"),
        ({"columns": "id bigint, x array<strin>"}, "columns has x array<strin>"),
        ({"columns": "id bigint,, note string"}, "columns has ; accepted"),
        ({"columns": "id"}, "columns has id; accepted"),
        ({"columns": ""}, "columns names no column"),
        ({"columns": ["id"]}, "columns names no column"),
        ({"columns": "id bigint, ID bigint"}, "columns has id twice"),
        ({"columns": "id bigint, _op string"}, "columns has _op, which the macro adds itself"),
        ({"fields": "source.a.b bigint"}, "fields has source.a.b bigint; accepted: a field of the"),
        ({"fields": "source.id bigint"}, "fields has id, which is a column too"),
        ({"fields": "source._op string"}, "fields has _op, which the macro adds itself"),
        (
            {"fields": "before string"},
            "fields has before, an object that the macro takes apart; ac",
        ),
        ({"fields": "Source string"}, "fields has Source, an object that the macro takes apart"),
        (
            {"fields": "transaction string", "connector": None, "position": "transaction.id"},
            "fields has transaction, an object",
        ),
        ({"fields": "Op string"}, "fields has Op, and the macro reads op, which differs by case"),
        (
            {"fields": "source.LSN string", "connector": None, "position": "source.lsn"},
            "fields has LSN, and the macro reads lsn, which differs by case only; accepted: lsn",
        ),
        ({"truncate": "apply"}, "truncate is apply; accepted: stop, ignore"),
        ({"tombstones": "keep"}, "tombstones is keep; accepted: skip, delete"),
        ({"timestamps": "micros"}, "timestamps is micros; accepted: adaptive, "),
        ({"decimals": {"total": "string"}}, "decimals names total, which is not among the columns"),
        ({"binary": {"note": "raw"}}, "binary is raw; accepted: bytes, base64"),
    ],
)
def test_a_mistake_is_one_sentence(
    macros: Any, stop: type[Exception], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(stop) as error:
        rendered(macros, **given)
    assert str(error.value).startswith("alluvium.debezium: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "kind", "read_as"),
    [
        ("Integer", "int", "string"),
        ("DECIMAL( 12 , 2 )", "decimal", "string"),
        ("timestamp_ltz", "timestamp", "string"),
        ("array<decimal(12,2)>", "array", "array<string>"),
        ("map<string, array<int>>", "map", "map<string,array<string>>"),
        (
            "struct<a: int, `b,c` struct<d:date>>",
            "struct",
            "struct<`a`:string,`b,c`:struct<`d`:string>>",
        ),
    ],
)
def test_types(macros: Any, text: str, kind: str, read_as: str) -> None:
    found = macros.event_type(text)
    assert (found["kind"], found["text"]) == (kind, read_as)


def test_bounds_are_those_of_the_batch(macros: Any) -> None:
    """Bronze itself has none, and a batch is not merged without them."""
    assert "_batch_through" not in rendered(macros)
    arguments = {"columns": "id bigint", "key": "id", "connector": "mysql"}
    batch = "(select *, 7L as `_batch_through`, 3L as `_batch_after` from bronze)"
    query = macros.debezium(batch, **arguments)
    bounds = [f"`__alluvium_shown`.`{name}`" for name in ("_batch_after", "_batch_through")]
    assert ",\n        ".join(bounds) + "\n    from" in query


def test_sql_of_the_user_reads_the_envelope(macros: Any) -> None:
    query = rendered(macros, connector=None, position="coalesce(source.lsn, ts_us, 'source')")
    assert "coalesce(`__alluvium_i`.source.lsn, `__alluvium_i`.event.ts_us, 'source')" in query
    assert "`lsn` string" in query
    assert "`ts_us` string" in query


def test_sql_of_the_user_reads_flat_fields(macros: Any) -> None:
    given = {"flat": True, "connector": None, "tombstones": "skip"}
    query = rendered(macros, **given, position="coalesce(__lsn, `a.__x`, '__y')")
    assert "coalesce(`__alluvium_i`.__lsn, `a.__x`, '__y')" in query
    # In the row, and in `payload`; an event may be read again.
    assert query.count("`__lsn` string") == 4
    # A declared column is read once.
    columns = "id bigint, __lsn bigint, __op string"
    query = rendered(macros, **given, columns=columns, position="__lsn")
    assert query.count("`__lsn` string") == query.count("`__op` string") == 4
