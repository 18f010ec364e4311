"""The statement of a merge for every kind of settings, as files to read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.rendered import Node

COLUMNS = ["id", "carrier", "op", "lsn", "ts_ms", "at", "v"]
CDC = {"order_by": ["lsn", "ts_ms"], "delete_when": "op = 'd'"}
CDC_WITH_RANGES = CDC | {"ranges": {"column": "at"}}
S, D = "DBT_INTERNAL_SOURCE", "DBT_INTERNAL_DEST"


def statement(
    macros: Any, meta: dict[str, Any], source: str = "items__dbt_tmp", updates: Any = COLUMNS,
    dedup: bool = True, null_keys: str | None = None,
) -> str:  # fmt: skip
    """Of a table whose key has two columns where its events may delete, and else one."""
    key = ["id", "carrier"] if "delete_when" in meta else "id"
    settings = macros.merge_settings(Node(meta, unique_key=key))
    prune = f"({D}.`at` is null)" if settings["ranges"] else None
    sql: str = macros.merge_statement(
        "s.items", source, settings, COLUMNS, updates, prune, ["(1 = 1)"], dedup, null_keys
    )
    return sql.strip()


def changed(sql: str, *changes: tuple[str, str]) -> str:
    """A statement with texts in other places, each of which it has once."""
    for old, new in changes:
        assert sql.count(old) == 1, old
        sql = sql.replace(old, new)
    return sql


def within(sql: str, start: str, end: str) -> str:
    """A clause: from where it starts to before where the next one does."""
    first = sql.index(start)
    return sql[first : sql.index(end, first)]


@pytest.mark.parametrize(("name", "meta"), [("plain", {}), ("soft_delete", CDC_WITH_RANGES)])
def test_statement(macros: Any, golden: Any, name: str, meta: dict[str, Any]) -> None:
    golden(f"merge_{name}", statement(macros, meta))


# The others differ from these two in a clause, which is all that follows.


def test_an_order(macros: Any) -> None:
    newer = f"coalesce({S}.`lsn` > {D}.`lsn`, {S}.`lsn` is not null)"
    assert statement(macros, {"order_by": "lsn"}) == changed(
        statement(macros, {}),
        ("order by to_json", "order by `lsn` desc nulls last, to_json"),
        ("when matched then", f"when matched and {newer} then"),
    )


def test_no_update(macros: Any) -> None:
    plain = statement(macros, {})
    assert statement(macros, {"on_match": "ignore", "order_by": "lsn"}) == changed(
        plain,
        ("order by to_json", "order by `lsn` asc nulls first, to_json"),
        (within(plain, "when matched", "when not matched"), ""),
    )


def test_hard_deletes(macros: Any) -> None:
    soft = statement(macros, CDC_WITH_RANGES)
    tombstone = within(soft, " then update set\n    DBT_INTERNAL_DEST.`_deleted` = true", "\nwhen")
    assert statement(macros, CDC_WITH_RANGES | {"delete": "hard"}) == changed(
        soft,
        (tombstone, " then delete"),
        (f",\n    {D}.`_deleted` = false", ""),
        ("when not matched then", f"when not matched and not {S}.`__alluvium_delete` then"),
        ("`v`,\n    `_deleted`", "`v`"),
        (f",\n    {S}.`__alluvium_delete`\n", "\n"),
    )


def test_the_time_of_tombstones(macros: Any, node: Any) -> None:
    """Of a table without another time, a merge notes when it made one."""
    settings = macros.merge_settings(node(CDC, unique_key="id"))
    given = ("s.items", "src", settings, COLUMNS, COLUMNS)
    without, settings["notes_time"] = macros.merge_statement(*given), True
    now, deletes = "current_timestamp()", f"{S}.`__alluvium_delete`"
    assert macros.merge_statement(*given) == changed(
        without,
        (f"{D}.`_deleted` = true", f"{D}.`_deleted` = true,\n    {D}.`_tombstone_time` = {now}"),
        (f"{D}.`_deleted` = false", f"{D}.`_deleted` = false,\n    {D}.`_tombstone_time` = null"),
        ("`v`,\n    `_deleted`", "`v`,\n    `_deleted`,\n    `_tombstone_time`"),
        (f"\n    {deletes}\n", f"\n    {deletes},\n    if({deletes}, {now}, null)\n"),
    )


@pytest.mark.parametrize(
    ("meta", "types", "moment"),
    [
        ({"order_by": "lsn"}, {"lsn": "bigint"}, None),
        (
            {"order_by": "lsn"},
            {"lsn": "bigint", "_tombstone_time": "timestamp"},
            "`_tombstone_time`",
        ),
        (
            {"order_by": ["At", "lsn"]},
            {"at": "timestamp_ntz", "_tombstone_time": "timestamp"},
            "`At`",
        ),
        ({"order_by": "day"}, {"day": "date"}, "`day`"),
        ({"order_by": "lsn", "tombstone_time": "f(lsn)"}, {"lsn": "bigint"}, "f(lsn)"),
        ({"delete": "soft"}, {"id": "bigint"}, None),
    ],
)
def test_when_a_tombstone_was_made(
    macros: Any, node: Any, meta: dict[str, Any], types: dict[str, str], moment: str | None
) -> None:
    settings = macros.merge_settings(node({"delete_when": "d", **meta}, unique_key="id"))
    assert macros.tombstone_moment(settings, types) == moment


def test_update_columns_and_no_dedup(macros: Any) -> None:
    every = statement(macros, CDC_WITH_RANGES)
    revived = f"if(coalesce({D}.`_deleted`, false), {S}.`op`, {D}.`op`)"
    assert statement(macros, CDC_WITH_RANGES, "src", ["v"], dedup=False) == changed(
        every,
        (within(every, "from (", "\n) as DBT"), "from src"),
        # What orders events is set all the same, and what never changes as before.
        (f"{D}.`op` = {S}.`op`", f"{D}.`op` = {revived}"),
    )


@pytest.mark.parametrize("delete", ["soft", "hard"])
def test_a_batch_without_deletes_has_no_clause_for_them(
    macros: Any, node: Any, delete: str
) -> None:
    settings = macros.merge_settings(node(CDC | {"delete": delete}, unique_key="id"))
    with_, without = (
        macros.merge_statement(
            "t", "src", settings, COLUMNS, ["v"], None, [], False, tombstones=tombstones
        )
        for tombstones in (True, False)
    )
    assert with_.count("when matched") == 2
    clause = r"\nwhen matched[^\n]*`__alluvium_delete` then (delete|update set\n.*?)(?=\nwhen)"
    assert re.sub(clause, "", with_, flags=re.DOTALL) == without


def test_events_without_a_key(macros: Any) -> None:
    key = ["id", "carrier"]
    whole, without = (macros.events_by_key("src", key, whole=one) for one in (True, False))
    every = statement(macros, CDC_WITH_RANGES, "src")
    newest = within(every, "(\n        select * except", "\n) as DBT")
    are_whole = "(`id` is not null and `carrier` is not null)"
    of_whole = newest.replace("from src", f"from (select * from src where {are_whole})")
    others = f"(select * from src where not {are_whole})"
    meta = CDC_WITH_RANGES | {"null_keys": "insert"}
    assert statement(macros, meta, whole, null_keys=without) == changed(
        every,
        (
            newest,
            f"(\n        select * from {of_whole}\n        union all\n"
            f"        select * from {others}\n    )",
        ),
    )


def test_null_keys_that_match(macros: Any, node: Any) -> None:
    settings = macros.merge_settings(node({"order_by": "lsn", "null_keys": "match"}))
    sql = macros.merge_statement("t", "src", settings, ["id", "lsn"], ["lsn"], None, [], False)
    assert "DBT_INTERNAL_SOURCE.`id` <=> DBT_INTERNAL_DEST.`id`" in sql


def test_rejected_events(macros: Any, golden: Any) -> None:
    golden("keep_rejected", macros.keep_rejected_sql("s.items__rejected", "src", ["`id`", "`v`"]))


def test_verify(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(node({"ranges": {"column": "at"}}, unique_key=["id", "b"]))
    plan = {"settings": settings, "source": "src", "prune": "(DBT_INTERNAL_DEST.`at` = 1)"}
    golden("verify", macros.verify_merge_sql("s.items", plan))


def test_profile(macros: Any, node: Any, golden: Any) -> None:
    settings = macros.merge_settings(
        node(CDC | {"ranges": {"column": "at"}}, unique_key=["id", "carrier"])
    )
    types = {"id": "bigint", "carrier": "string", "at": "timestamp"}
    sql = macros.merge_profile_sql(
        "src", settings, types, ["id", "carrier"], "(`__alluvium_value` = 1)", ["_batch_through"]
    )
    golden("profile", sql)


NAMES = [*COLUMNS, "lacked"]
KEPT_CDC = CDC | {"keep_by": "Lacked"}


def kept_statement(
    macros: Any, meta: dict[str, Any], kept: list[str] | None, updates: Any = NAMES,
    dedup: bool = True, null_keys: str | None = None,
) -> str:  # fmt: skip
    settings = macros.merge_settings(Node(meta))
    sql: str = macros.merge_statement(
        "t", "src", settings, NAMES, updates, None, [], dedup, null_keys, kept=kept
    )
    return sql.strip()


def test_what_events_lack(macros: Any, golden: Any) -> None:
    golden("merge_kept", kept_statement(macros, KEPT_CDC, ["at", "v"]))


@pytest.mark.parametrize("meta", [CDC, CDC | {"delete": "hard"}, {"order_by": "lsn"}])
def test_where_no_event_lacks_anything_the_merge_is_as_ever(
    macros: Any, meta: dict[str, Any]
) -> None:
    assert kept_statement(macros, meta | {"keep_by": "lacked"}, None) == kept_statement(
        macros, meta, None
    )


def test_an_empty_list_of_lacked_columns_is_stored_as_null(macros: Any) -> None:
    none = "cast(null as array<string>)"
    assert kept_statement(macros, KEPT_CDC, []) == changed(
        kept_statement(macros, KEPT_CDC, None),
        ("\n        `lacked`,", f"\n        {none} as `Lacked`,"),
        (f",\n    {D}.`lacked` = {S}.`lacked`", ""),
        (
            f",\n    {D}.`_deleted` = false",
            f",\n    {D}.`Lacked` = {none},\n    {D}.`_deleted` = false",
        ),
    )


def test_what_no_update_sets_stays_unknown(macros: Any) -> None:
    """Whatever events have of it: only a tombstone that comes back takes it."""
    tombstone = f"coalesce({D}.`_deleted`, false)"
    sql = kept_statement(macros, KEPT_CDC, None, ["v", "op", "carrier"])
    was = f"coalesce(exists({D}.`Lacked`, x -> lower(x) = 'at'), false)"
    names = f"array(if(if({tombstone}, false, {was}), 'at', null))"
    assert f"{D}.`Lacked` = nullif(filter({names}, x -> x is not null)" in sql
    # Rows that are deleted are gone, and nothing comes back.
    hard = kept_statement(macros, KEPT_CDC | {"delete": "hard"}, None, ["v", "op", "carrier"])
    assert f"array(if({was}, 'at', null))" in hard


def test_events_that_come_alone_look_at_none_before(macros: Any) -> None:
    sql = kept_statement(macros, KEPT_CDC, ["v"], dedup=False, null_keys="others")
    assert "__alluvium_before" not in sql
    both = kept_statement(macros, KEPT_CDC, ["v"], null_keys="others")
    assert "select *, null as `__alluvium_before0` from others" in both


LACKED = {"name": "v", "example": "V", "is_known": True, "has_value": False}


@pytest.mark.parametrize(
    ("lacked", "says"),
    [
        (LACKED, None),
        (LACKED | {"name": "old"}, None),  # the model selects it, and the table has no such column
        (LACKED | {"name": "text"}, None),
        (LACKED | {"name": "nothing"}, None),
        (
            LACKED | {"name": "carier", "example": "carier", "is_known": False},
            "carier, which the model does not select; did you mean carrier?",
        ),
        (LACKED | {"name": "id"}, "V, which unique_key names"),
        (LACKED | {"name": "lsn"}, "V, which order_by names"),
        (LACKED | {"name": "lacked"}, "V, which keep_by names"),
        (LACKED | {"has_value": True}, "V and have a value of it, and ranges find rows by V"),
        (
            LACKED | {"name": "total"},
            "V, which is double in the batch and decimal(9,2) in the table",
        ),
    ],
)
def test_which_columns_events_may_lack(
    macros: Any, lacked: dict[str, Any], says: str | None
) -> None:
    given = {
        "id": "int", "lsn": "int", "v": "string", "carrier": "string", "old": "int",
        "total": "double", "text": "varchar(3)", "nothing": "void", "lacked": "array<string>",
    }  # fmt: skip
    types = given | {"total": "decimal(9,2)", "text": "string", "nothing": "int"}
    del types["old"]
    outline = {
        "settings": macros.merge_settings(Node(KEPT_CDC)),
        "source_types": given, "types": types, "stored": ["ID", "LSN", "V", "Text", "Nothing"],
    }  # fmt: skip
    found = macros.kept_columns(outline, [lacked])
    if says is None:
        names = {"v": ["V"], "text": ["Text"], "nothing": ["Nothing"]}
        assert found == {"columns": names.get(lacked["name"], []), "mistakes": []}
    else:
        (mistake,) = found["mistakes"]
        assert mistake.startswith(f"keep_by: events leave out {says}")


def test_the_look_at_what_events_lack(macros: Any, golden: Any) -> None:
    settings = macros.merge_settings(Node(KEPT_CDC | {"ranges": {"column": "At"}}))
    golden("lacked_columns", macros.lacked_columns_sql("src", settings, ["id", "at", "lacked"]))


@pytest.mark.parametrize(
    ("given", "stored", "says"),
    [
        ("array<string>", "array<string>", None),
        ("string", "array<string>", "Lacked is string in the model; accepted: array<string>"),
        ("array<string>", "array<int>", "Lacked is array<int> in the table"),
        (None, None, "the model does not select Lacked"),
    ],
)
def test_the_type_of_names(
    macros: Any, given: str | None, stored: str | None, says: str | None
) -> None:
    node = Node(KEPT_CDC)
    macros.know(node)
    names = [{"lacked": kind} if kind else {} for kind in (given, stored)]
    types = {"id": "int", "lsn": "int", "ts_ms": "int"}
    settings = macros.merge_settings(node)
    found = macros.unknown_columns(node, settings, types | names[0], types | names[1])
    assert len(found) == (says is not None)
    assert says is None or found[0].startswith(f"keep_by: {says}")


def test_names_are_quoted(macros: Any, node: Any) -> None:
    settings = macros.merge_settings(node({"order_by": "a`b"}, unique_key="my key"))
    sql = macros.merge_statement("t", "s", settings, ["my key", "a`b"], ["a`b"], None, [], True)
    assert "`a``b`" in sql
    assert "DBT_INTERNAL_SOURCE.`my key` = DBT_INTERNAL_DEST.`my key`" in sql


@pytest.mark.parametrize(
    ("meta", "soft"),
    [
        ({"order_by": "lsn", "delete_when": "d"}, True),
        ({"delete_when": "d"}, False),
        ({"order_by": "lsn", "delete_when": "d", "delete": "hard"}, False),
        ({"delete_when": "d", "delete": "soft"}, True),
        ({"order_by": "lsn"}, False),
    ],
)
def test_tombstones_by_default_where_there_is_an_order(
    macros: Any, node: Any, meta: dict[str, Any], soft: bool
) -> None:
    from types import SimpleNamespace

    from alluvium.plan.graph import keeps_tombstones

    assert macros.merge_settings(node(meta))["soft"] is soft
    config = SimpleNamespace(meta={"alluvium_merge": meta})
    assert keeps_tombstones(SimpleNamespace(config=config)) is soft
