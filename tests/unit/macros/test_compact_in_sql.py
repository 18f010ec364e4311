"""Compaction on stock targets: OPTIMIZE of the buckets that need it, their small files alone."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

LOGS = SimpleNamespace(render=lambda: "`s`.`logs`", identifier="logs")
DAILY = {"sort_by": "a", "bucket_by": {"column": "day", "window": "day"}}
OPTIMIZE = "spark.databricks.delta.optimize."


class Row(dict):
    """A row of a query: columns are attributes in Jinja, as in agate."""


class Server:
    """Answers statements as the server would; `sent` holds all but the questions."""

    def __init__(self, macros: Any, found: list[tuple[str | None, int]], **types: str) -> None:
        self.found = found
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.said: list[str] = []
        self.partition = list(types)
        self.settings: dict[str, str] = {f"{OPTIMIZE}minFileSize": "1073741824"}
        columns = [SimpleNamespace(name=name, dtype=kind) for name, kind in types.items()]
        macros.context["target"] = SimpleNamespace(type="spark")
        macros.context["run_query"] = self.query
        macros.context["log"] = lambda line, info=False: self.said.append(line)
        macros.context["adapter"].get_columns_in_relation = lambda relation: columns

    def query(self, sql: str) -> Any:
        if sql.startswith("set ") and "=" not in sql:
            key = sql.removeprefix("set ")
            return SimpleNamespace(rows=[{"value": self.settings.get(key, "<undefined>")}])
        if sql.startswith("describe detail"):
            return SimpleNamespace(rows=[{"partitionColumns": json.dumps(self.partition)}])
        if sql.startswith("select"):
            self.asked.append(sql)
            return SimpleNamespace(rows=[Row(bucket=b, small=n) for b, n in self.found])
        self.sent.append(sql)
        return None


def compact(macros: Any, block: Any, dry_run: bool = False, is_hook: bool = True) -> None:
    macros.compact_in_sql(LOGS, "logs", block, dry_run, is_hook)


def test_only_the_buckets_that_need_it(macros: Any, golden: Any) -> None:
    server = Server(macros, [("2024-03-01", 40), ("2024-03-02", 2)], day="date")
    compact(macros, DAILY)
    golden("buckets_in_need", server.asked[0])
    assert server.sent == [
        f"set {OPTIMIZE}minFileSize=67108864",
        f"set {OPTIMIZE}maxFileSize=134217728",
        "optimize `s`.`logs` where `day` in (date'2024-03-01', date'2024-03-02')",
        # As it was: one had a value, the other had none.
        f"set {OPTIMIZE}minFileSize=1073741824",
        f"reset {OPTIMIZE}maxFileSize",
    ]
    assert server.said[0].startswith("logs: optimized 42 small files in 2 buckets in ")


def test_databricks_takes_no_settings(macros: Any) -> None:
    server = Server(macros, [("2024-03-01", 40)], day="date")
    macros.context["target"] = SimpleNamespace(type="databricks")
    compact(macros, DAILY)
    assert server.sent == ["optimize `s`.`logs` where `day` in (date'2024-03-01')"]


def test_a_table_without_buckets_is_one(macros: Any, golden: Any) -> None:
    server = Server(macros, [(None, 33)])
    compact(macros, {"sort_by": "a", "quiet_after": "2 hours", "target_bytes": 1000, "fan_in": 4})
    golden("one_bucket_in_need", server.asked[0])
    assert server.sent[2] == "optimize `s`.`logs`"
    assert server.sent[:2] == [f"set {OPTIMIZE}minFileSize=500", f"set {OPTIMIZE}maxFileSize=1000"]
    # Without `quiet_after` it is never quiet.
    compact(macros, {"sort_by": "a"})
    assert "and false" in server.asked[1]


def test_a_dry_run_says_what_it_would_do(macros: Any) -> None:
    server = Server(macros, [("2024-03-01", 40)], day="date")
    compact(macros, DAILY, dry_run=True)
    assert not server.sent
    assert server.said == [
        "logs: would run `optimize `s`.`logs` where `day` in (date'2024-03-01')`"
        " for 40 small files in 1 bucket; only an alluvium target compacts in the order of the"
        " layout"
    ]


@pytest.mark.parametrize("found", [[], [("no day", 40)]])
def test_nothing_to_do(macros: Any, found: list[tuple[str, int]]) -> None:
    """Also where no literal can name the bucket: without a predicate it would be all of them."""
    server = Server(macros, found, day="date")
    compact(macros, DAILY)
    assert not server.sent
    assert not server.said
    compact(macros, DAILY, is_hook=False)
    compact(macros, DAILY, dry_run=True, is_hook=False)
    assert server.said == ["logs: nothing to compact"] * 2


@pytest.mark.parametrize(
    ("kind", "texts", "condition"),
    [
        ("date", ["2024-03-01", None], "`day` in (date'2024-03-01') or `day` is null"),
        ("date", [None], "`day` is null"),
        ("timestamp", ["1709251200000000"], "`day` in (timestamp'2024-03-01 00:00:00.000000 UTC')"),
        (
            "timestamp_ntz",
            ["2024-03-01 05:00:00"],
            "`day` in (timestamp_ntz'2024-03-01 05:00:00.000000')",
        ),
        ("string", ["2024-03"], "`day` in ('2024-03')"),
        ("string", ["it's"], "`day` in (cast(x'69742773' as string))"),
        ("int", ["20240301", "-5"], "`day` in (20240301, -5)"),
        ("string", [], None),
    ],
)
def test_values_are_typed_literals(
    macros: Any, kind: str, texts: list[str | None], condition: str | None
) -> None:
    Server(macros, [], day=kind)
    bucket = macros.bucket_column(LOGS, {"column": "DAY", "window": "day"})
    assert macros.in_buckets(bucket, texts) == condition


def test_what_stands_for_no_moment_has_none(macros: Any) -> None:
    Server(macros, [], a="date", b="string", c="int", d="timestamp")
    begins = {
        name: macros.bucket_column(LOGS, {"column": name, "window": "day"})["begins"]
        for name in "abcd"
    }
    assert begins == {
        "a": "try_cast(`a` as timestamp)",
        "b": "if(`b` rlike '^[0-9]{4}-[0-9]', try_cast(`b` as timestamp), null)",
        "c": "cast(null as timestamp)",
        "d": "try_cast(`d` as timestamp)",
    }


@pytest.mark.parametrize("text", ['["region", "day"]', "['region', 'day']", "['region' 'day']"])
def test_partition_columns_of_every_client(macros: Any, text: str) -> None:
    server = Server(macros, [], region="string", day="date")
    rows = [{"partitionColumns": text}]
    macros.context["run_query"] = lambda sql: SimpleNamespace(rows=rows)
    bucket = macros.bucket_column(LOGS, {"column": "day", "window": "day"})
    assert (bucket["name"], bucket["type"], server.sent) == ("`day`", "date", [])


def test_a_generated_partition_stands_for_its_timestamp(macros: Any) -> None:
    Server(macros, [], At_Day="date", region="string")
    bucket = macros.bucket_column(LOGS, {"column": "at", "window": "day"})
    assert bucket["name"] == "`At_Day`"
    Server(macros, [], logged_at_day="date")
    for name in ("logged at", "logged-at", "logged.at"):
        bucket = macros.bucket_column(LOGS, {"column": name, "window": "day"})
        assert bucket["name"] == "`logged_at_day`"


def test_a_column_that_cannot_name_buckets_is_refused(macros: Any, stop: Any) -> None:
    day = {"column": "day", "window": "day"}
    for server, said in [
        (Server(macros, [], day="boolean"), r"\.day is boolean; accepted: a partition column that"),
        (Server(macros, [], at="date", b="int"), "is not partitioned by day; accepted: at, b"),
        (Server(macros, []), "is not partitioned by day; accepted: a table with partitions"),
    ]:
        macros.context["run_query"] = server.query
        columns = [SimpleNamespace(name=name, dtype="boolean") for name in server.partition]
        adapter = macros.context["adapter"]
        adapter.get_columns_in_relation = lambda relation, found=columns: found
        with pytest.raises(stop, match=said):
            macros.bucket_column(LOGS, day)


WRONG: list[tuple[Any, str]] = [
    ("day", '"day" is not a mapping; accepted: a mapping of keys, with sort_by'),
    ({"bucket_by": "day"}, '.bucket_by: "day" is not a mapping; accepted keys: column, window'),
    ({"bucket_by": {"column": "day"}}, ".bucket_by.window: missing; accepted: hour, day, week"),
    ({"bucket_by": {"window": "day"}}, ".bucket_by.column: missing; accepted: a partition column"),
    (
        {"bucket_by": {"column": 1, "window": "day"}},
        ".bucket_by.column: 1 is not accepted; accepted: a text",
    ),
    (
        {"bucket_by": {"column": "d", "window": "year"}},
        '.bucket_by.window: "year" is not accepted; accepted: hour, day, week, month',
    ),
    *(
        ({"target_bytes": value}, "accepted: bytes, such as 134217728, 128 MiB or 1 GiB")
        for value in (0, -1, True, 1.5, "128 MB", "1.5 GiB", "", "1 GiB\n")
    ),
    *(({"fan_in": v}, "accepted: a whole number from 2 to 1000") for v in (1, 1001, True, "32")),
    ({"retain": "30 days"}, "accepted: with bucket_by"),
    (DAILY | {"retain": "30d"}, "accepted: a number of minutes, hours, days or weeks"),
    *(({"quiet_after": v}, "accepted: auto, or a number of") for v in (6, "6h", "1 month", [])),
]


@pytest.mark.parametrize(("block", "said"), WRONG)
def test_mistakes_are_found_without_the_adapter(
    macros: Any, node: Any, block: Any, said: str
) -> None:
    mistakes: list[str] = []
    macros.validate_layout(node(), block, mistakes)
    assert len(mistakes) == 1
    assert mistakes[0].startswith("items: meta.alluvium_layout")
    assert said in mistakes[0]


def test_what_is_accepted(macros: Any, node: Any) -> None:
    mistakes: list[str] = []
    full = {"fan_in": 2, "quiet_after": "6 hours", "target_bytes": "1 KiB"}
    for block in (
        {},
        dict.fromkeys(full),
        full,
        DAILY | {"quiet_after": "auto", "retain": "1 week"},
    ):
        macros.validate_layout(node(), block, mistakes)
    assert not mistakes


def test_validate_looks_at_layouts(macros: Any, node: Any, stop: Any) -> None:
    wrong = node()
    wrong["config"]["meta"] = {"alluvium_layout": {"fan_in": 1}}
    macros.context["target"] = SimpleNamespace(type="spark")
    macros.context["graph"] = {"nodes": {"a": wrong}, "sources": {}}
    with pytest.raises(stop, match=r"items: meta\.alluvium_layout\.fan_in: 1 is not accepted"):
        macros.validate()
