"""Retention: what is dropped is what was listed, and nothing whose age is not known."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

DAILY = {"sort_by": "a", "bucket_by": {"column": "day", "window": "day"}, "retain": "30 days"}


class Server:
    """A table with these old buckets: texts, files, bytes and rows."""

    def __init__(
        self, macros: Any, node: Any, *old: tuple[str, int, int, int], kind: str = "date"
    ) -> None:
        self.asked: list[str] = []
        self.sent: list[str] = []
        self.said: list[str] = []
        self.partition = ["Day"]
        self.node = node() | {"name": "logs", "unique_id": "model.root.logs"}
        self.node |= {"database": None, "schema": "s", "alias": "logs"}
        self.node["config"] = {"materialized": "incremental", "meta": {"alluvium_layout": DAILY}}
        self.old = [
            dict(zip(("bucket", "files", "bytes", "rows"), one, strict=True)) for one in old
        ]
        self.table = SimpleNamespace(render=lambda: "`s`.`logs`", identifier="logs")
        column = SimpleNamespace(name="Day", dtype=kind)
        adapter = macros.context["adapter"]
        macros.context["adapter"] = SimpleNamespace(
            dispatch=adapter.dispatch,
            partition_columns=lambda table: self.partition,
            run_with_retries=lambda table, sql, what, is_purge: self.sent.append(sql),
            get_columns_in_relation=lambda relation: [column],
            get_relation=lambda database, schema, identifier: self.table,
        )
        macros.context["graph"] = {"nodes": {"a": self.node}, "sources": {}}
        macros.context["target"] = SimpleNamespace(type="spark")
        macros.context["alluvium"]["validate"] = lambda: ""
        macros.context["run_query"] = self.query
        macros.context["log"] = lambda line, info=False: self.said.append(line)

    def query(self, sql: str) -> Any:
        if sql.startswith("describe detail"):
            rows = [{"partitionColumns": json.dumps(self.partition)}]
            return SimpleNamespace(rows=rows)
        if sql.startswith("select"):
            self.asked.append(sql)
            return SimpleNamespace(rows=self.old)
        self.sent.append(sql)
        return SimpleNamespace(rows=[[3345]])


OLD = ("2024-03-01", 1, 2**20, 1000), ("2024-03-02", 3, 2**21, 2345)


def test_a_dry_run_is_the_default(macros: Any, node: Any, golden: Any) -> None:
    server = Server(macros, node, *OLD)
    macros.drop_old_buckets("logs")
    golden("old_buckets", server.asked[0])
    assert not server.sent
    assert server.said == [
        "logs: would drop 2 buckets over for 30 days: 4 files, 3.0 MiB, 3,345 rows"
        " (dry run; dry_run: false drops them)",
        "  2024-03-01: 1 file, 1.0 MiB, 1,000 rows",
        "  2024-03-02: 3 files, 2.0 MiB, 2,345 rows",
    ]


@pytest.mark.parametrize(
    ("column", "partition"), [("`Day`", "Day"), ("`the time`", "the_time_day"), ("at", "at_day")]
)
def test_a_column_is_found_as_the_adapter_finds_it(
    macros: Any, node: Any, column: str, partition: str
) -> None:
    """In backticks or without; or the column that an alluvium target has made of it."""
    server = Server(macros, node, *OLD)
    bucket_by = {"column": column, "window": "day"}
    server.node["config"]["meta"] = {"alluvium_layout": DAILY | {"bucket_by": bucket_by}}
    server.partition = [partition]
    named = SimpleNamespace(name=partition, dtype="date")
    macros.context["adapter"].get_columns_in_relation = lambda relation: [named]
    macros.drop_old_buckets("logs", False)
    [sent] = server.sent
    assert sent.startswith(f"delete from `s`.`logs` where `{partition}` in (date'2024-03-01', ")


def test_what_was_listed_is_dropped(macros: Any, node: Any) -> None:
    server = Server(macros, node, *OLD)
    macros.drop_old_buckets("logs", False)
    assert server.sent == [
        "delete from `s`.`logs` where `Day` in (date'2024-03-01', date'2024-03-02')"
    ]
    assert server.said == ["logs: dropped 2 buckets over for 30 days: 4 files, 3.0 MiB, 3,345 rows"]


@pytest.mark.parametrize("old", [[], [("not a day", 1, 1, 1)], [(None, 1, 1, 1)]])
def test_what_no_literal_names_is_kept(macros: Any, node: Any, old: Any) -> None:
    """Nor is NULL an old bucket."""
    server = Server(macros, node, *old)
    macros.drop_old_buckets("logs", False)
    assert not server.sent
    assert server.said == ["logs: dropped 0 buckets over for 30 days"]


def test_numbers_stand_for_no_time(macros: Any, node: Any) -> None:
    server = Server(macros, node, kind="int")
    macros.drop_old_buckets("logs")
    assert "where cast(null as timestamp) <= current_timestamp()" in server.asked[0]


def test_a_long_list_is_cut(macros: Any, node: Any) -> None:
    server = Server(macros, node, *((f"2024-03-{day:02}", 1, 1, 1) for day in range(1, 26)))
    macros.drop_old_buckets("logs")
    assert len(server.said) == 22
    assert server.said[-1] == "  … 5 more"


def test_the_column_has_to_be_a_partition(macros: Any, node: Any, stop: Any) -> None:
    server = Server(macros, node, *OLD)
    for partition, accepted in ([], "a table with partitions"), (["b", "c"], "b, c"):
        server.partition = partition
        with pytest.raises(stop, match=f"not partitioned by day.*; accepted: {accepted}"):
            macros.drop_old_buckets("logs", False)
    assert not server.sent


def test_bronze_that_knows_its_files_by_its_rows_is_refused(
    macros: Any, node: Any, stop: Any
) -> None:
    server = Server(macros, node, *OLD)
    server.node["config"]["materialized"] = "streaming_table"
    with pytest.raises(stop, match="would read those of dropped buckets again"):
        macros.drop_old_buckets("logs", False)
    for kind in ("alluvium", "databricks"):
        macros.context["target"] = SimpleNamespace(type=kind)
        macros.drop_old_buckets("logs")
    assert not server.sent


def test_what_has_no_retention_is_refused(macros: Any, node: Any, stop: Any) -> None:
    server = Server(macros, node, *OLD)
    with pytest.raises(stop, match="there is no enabled model 'other'"):
        macros.drop_old_buckets("other")
    server.node["config"]["meta"] = {"alluvium_layout": {"sort_by": "a"}}
    with pytest.raises(stop, match="'logs' is not a model with retain"):
        macros.drop_old_buckets("logs")


def test_a_table_that_is_not_there(macros: Any, node: Any) -> None:
    server = Server(macros, node)
    server.table = None
    macros.drop_old_buckets("logs", False)
    assert server.said == ["logs: no table yet"]
    assert not server.sent
