"""The reference project on stock dbt-spark over Spark's Thrift server, beside the oracle."""

from __future__ import annotations

import gzip
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from dbt.cli.main import dbtRunner
from deltalake import DeltaTable, write_deltalake
from oracle.flights import COLUMNS, KEY, ORDER, assert_same, parse, replay_duckdb
from support.written_log import WrittenLog

from alluvium import marks
from alluvium.demo.flights import Delivery, replay_flights
from alluvium.pruning.reading import SETTING

hive = pytest.importorskip(
    "pyhive.hive", reason="stock dbt-spark talks to a Thrift server with PyHive, which is missing"
)
pytestmark = pytest.mark.spark

REPO = Path(__file__).parents[3]
FEED = ("flights_events", "flights_parsed", "flights_batch", "flights", "flights_rejected")


@dataclass
class Stock:
    """A schema on the server and a landing folder; `lines` holds what the last run logged."""

    root: Path
    cursor: Any
    schema: str
    environ: pytest.MonkeyPatch
    project: Path = REPO
    folder: str = "landing"
    lines: list[str] = field(default_factory=list)

    @property
    def landing(self) -> Path:
        return self.root / self.folder

    def dbt(self, *args: str, fails: bool = False) -> None:
        self.environ.setenv("ALLUVIUM_TARGET", "thrift")
        self.environ.setenv("ALLUVIUM_SCHEMA", self.schema)
        self.environ.setenv("ALLUVIUM_LANDING", str(self.landing))
        self.lines = []
        runner = dbtRunner(callbacks=[lambda event: self.lines.append(event.info.msg)])
        folders = {
            "--project-dir": self.project,
            "--profiles-dir": REPO / "profiles",
            "--target-path": self.root / "target",
            "--log-path": self.root / "logs",
        }
        result = runner.invoke([*args, *(str(x) for pair in folders.items() for x in pair)])
        assert result.success != fails, result.exception or "\n".join(self.lines[-30:])

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def query(self, sql: str) -> pd.DataFrame:
        self.cursor.execute(sql.replace("{s}", self.schema))
        names = [column[0].split(".")[-1] for column in self.cursor.description]
        return pd.DataFrame(self.cursor.fetchall(), columns=names)

    def query_none(self, sql: str) -> None:
        """Run a statement that gives no rows."""
        self.cursor.execute(sql)

    def version(self, table: str) -> int:
        return int(self.query(f"describe history {{s}}.{table} limit 1")["version"][0])

    def bronze(self) -> pd.DataFrame:
        return self.query("select * from {s}.flights_events").sort_values(
            ["_source_partition", "_source_offset"], ignore_index=True
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    home = tmp_path_factory.mktemp("thrift")
    jars = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars"))
    jars.mkdir(parents=True, exist_ok=True)
    (home / "jars").symlink_to(jars)
    command = [sys.executable, str(REPO / "scripts/thrift-server")]
    started = subprocess.run(
        [*command, "start", "--home", str(home)], capture_output=True, text=True
    )
    assert started.returncode == 0, started.stderr
    server = dict(pair.split("=") for pair in started.stdout.split()[1:])
    yield server
    # ps takes the terminal's width from here; the server's command line is far longer.
    stopping = os.environ | {"COLUMNS": "80"}
    subprocess.run([*command, "stop", "--home", str(home)], check=True, env=stopping)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(server["SPARK_THRIFT_PORT"]))) != 0


@pytest.fixture
def stock(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stock]:
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    port = int(server["SPARK_THRIFT_PORT"])
    with hive.connect("127.0.0.1", port, username="dbt") as connection:
        (tmp_path / "landing/flights").mkdir(parents=True)
        yield Stock(tmp_path, connection.cursor(), f"s{tmp_path.name[:20]}", monkeypatch)


def land(stock: Stock, day: date) -> list[Path]:
    before = set(stock.landing.rglob("*.jsonl*"))
    replay_flights(stock.landing, 1, day, Delivery(malformed_rate=0.01))
    return sorted(set(stock.landing.rglob("*.jsonl*")) - before)


def assert_flights(stock: Stock, batches: list[list[Path]]) -> None:
    *_, expected = replay_duckdb(batches)
    table = stock.query("select * from {s}.flights")
    assert_same(expected.live, table[~table["_deleted"]])
    assert_same(expected.tombstones, table.loc[table["_deleted"], [*KEY, *ORDER]])
    assert set(table.columns) == {*COLUMNS, "op", "_deleted"}
    assert len(expected.live) > 500
    assert len(expected.tombstones) > 0


@pytest.mark.proves("files", "merge", on="thrift")
def test_flights_equal_the_oracle(stock: Stock) -> None:
    batches = [land(stock, date(2013, 1, 1))]
    packed = batches[0][3]
    batches[0][3] = packed.with_name(packed.name + ".gz")
    batches[0][3].write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    stock.dbt("build", "--select", "+flights", "flights_rejected")
    assert_flights(stock, batches)

    # A file that is in is not opened again.
    content, written = batches[0][3].read_bytes(), batches[0][3].stat()
    batches[0][3].write_bytes(b"no gzip")
    batches.append(land(stock, date(2013, 1, 2)))
    stock.dbt("run", "--select", *FEED)
    batches[0][3].write_bytes(content)
    os.utime(batches[0][3], ns=(written.st_atime_ns, written.st_mtime_ns))
    # A new table has nothing to leave unread; this one has.
    assert stock.said("(gaps)")
    assert_flights(stock, batches)

    events, rejected = parse([file for batch in batches for file in batch])
    folder = f"{stock.landing}/flights/"
    lines = pd.concat([events[["_file", "_line"]], rejected[["_file", "_line"]]])
    places = set(zip(lines["_file"].str.removeprefix(folder), lines["_line"], strict=True))
    bronze = stock.bronze()
    assert len(bronze) == len(places)
    assert set(zip(bronze["_source_partition"], bronze["_source_offset"], strict=True)) == places
    assert bronze["_batch_id"].nunique() == 2
    counts = stock.query(
        "select reject_reason, count(*) as n from {s}.flights_rejected group by reject_reason"
    )
    assert dict(zip(counts["reject_reason"], counts["n"], strict=True)) == dict(
        rejected["reason"].value_counts()
    )

    versions = {name: stock.version(name) for name in ("flights_events", "flights")}
    stock.dbt("run", "--select", *FEED)
    assert stock.said("flights_events: up to date")
    assert stock.said("flights: nothing new")
    assert versions == {name: stock.version(name) for name in versions}

    # Below another folder its files would have other names.
    whole = stock.landing
    stock.folder = "link"
    stock.landing.symlink_to(whole)
    stock.dbt("run", "--select", "flights_events", fails=True)
    told = next(line for line in stock.lines if "Nothing was read; accepted" in line)
    assert f"were read below {whole}/flights, and `path` begins at {stock.landing}/flights" in told
    stock.query_none(told[told.index("alter table ") :].splitlines()[0])
    stock.dbt("run", "--select", "flights_events")
    assert stock.said("flights_events: up to date")
    assert len(stock.bronze()) == len(bronze)

    stock.dbt("run", "--select", "flights_events", "--full-refresh")
    again = stock.bronze()
    assert again["_batch_id"].min() > bronze["_batch_id"].max()
    same = [name for name in bronze.columns if name != "_batch_id"]
    pd.testing.assert_frame_equal(again[same], bronze[same])


@pytest.mark.slow
def test_bronze_keeps_every_line_of_every_file(stock: Stock) -> None:
    run = ("run", "--select", "flights_events")
    stock.dbt(*run)
    assert stock.bronze().empty
    folder = stock.landing / "flights"
    (folder / "a b").mkdir()
    files = {
        "a b/it's 100%+1.jsonl": b"one\r\n\n two\nthree",
        "bad.txt": b"ok\n\xff\xfe\r\nlone\rreturn\n",
        "empty.jsonl": b"",
        "_hidden.jsonl": b"not seen\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    stock.dbt(*run, "--empty")
    assert stock.bronze().empty
    stock.dbt(*run)
    bronze = stock.bronze()
    found = bronze[["_source_partition", "_source_offset", "_value"]]
    assert [tuple(row) for row in found.itertuples(index=False)] == [
        ("a b/it's 100%+1.jsonl", 0, "one"),
        ("a b/it's 100%+1.jsonl", 1, ""),
        ("a b/it's 100%+1.jsonl", 2, " two"),
        ("a b/it's 100%+1.jsonl", 3, "three"),
        ("bad.txt", 0, "ok"),
        ("bad.txt", 1, "\ufffd\ufffd"),
        ("bad.txt", 2, "lone\rreturn"),
    ]
    raw = stock.query(
        "select hex(_headers[0].value) as bytes from {s}.flights_events where _headers is not null"
    )
    assert raw["bytes"].tolist() == ["FFFE"]
    assert bronze["_key"].isna().all()
    assert bronze["_batch_id"].nunique() == 1
    types = stock.query("describe {s}.flights_events")
    assert dict(zip(types["col_name"], types["data_type"], strict=True)) == {
        "_key": "string",
        "_value": "string",
        "_headers": "array<struct<key:string,value:binary>>",
        "_source_partition": "string",
        "_source_offset": "bigint",
        "_source_timestamp": "timestamp",
        "_batch_id": "bigint",
    }


# A layout with buckets of days, files of 40 KiB, and four small ones that make a merge worth it.
LOGS = """
{{ config(
    materialized='incremental', incremental_strategy='append', file_format='delta',
    partition_by='day', meta={'alluvium_layout': {
        'sort_by': 'id', 'bucket_by': {'column': 'day', 'window': 'day'}, 'fan_in': 4,
        'target_bytes': '40 KiB', 'retain': '3650 days',
    }},
    post_hook=[
        "{{ alluvium.compact(this) }}",
        "create or replace table {{ this.schema }}.seen using delta as select"
        " '${spark.databricks.delta.optimize.minFileSize}' as least,"
        " '${spark.databricks.delta.optimize.maxFileSize}' as most",
    ],
) }}
select * from {{ this }} where false
"""


def in_project(stock: Stock, files: dict[str, str]) -> None:
    """Let a project of its own have the package and these files."""
    stock.project = stock.root / "project"
    package = stock.project / "dbt_packages/alluvium"
    package.mkdir(parents=True)
    (package / "macros").symlink_to(REPO / "macros")
    settings: dict[str, Any] = {"name": "alluvium", "version": "0.1.0", "config-version": 2}
    (package / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    order = ["logging", "alluvium", "dbt"]
    dispatch = [{"macro_namespace": "dbt", "search_order": order}]
    settings |= {"name": "logging", "profile": "alluvium", "dispatch": dispatch}
    (stock.project / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    (stock.project / "models").mkdir()
    for name, text in files.items():
        (stock.project / name).write_text(text)
    stock.query_none(f"create schema {stock.schema}")


@pytest.fixture
def logs(stock: Stock) -> Path:
    """A table of another writer in a project of its own: folder of the table."""
    in_project(stock, {"models/logs.sql": LOGS})
    folder = stock.root / "table"
    # Rows of a file: 10 are about 2 KB and 700 about 25 KB.
    files = {
        "2015-01-01": [10, 10, 10, 10],  # as many as make a merge worth it
        "2015-01-02": [10, 10],  # fewer, and just written
        "2015-01-03": [700, 10, 10, 10, 10],  # one is large enough
        "2015-01-04": [10, 10],  # fewer, but quiet
        "2015-01-05": [10],  # quiet, and nothing to merge with
        "2999-01-01": [10, 10],  # not over yet
        None: [10, 10, 10, 10],
    }
    texts = random.Random(5)
    for day, counts in files.items():
        for rows in counts:
            data = {
                "id": pa.array(range(rows), pa.int32()),
                "text": pa.array([texts.randbytes(14).hex() for _ in range(rows)]),
                "day": pa.array([day and date.fromisoformat(day)] * rows, pa.date32()),
            }
            write_deltalake(folder, pa.table(data), mode="append", partition_by=["day"])
    # Days of long ago, as far as the log says when their files were written.
    for commit in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for add in (action["add"] for action in actions if "add" in action):
            if add["partitionValues"]["day"] in ("2015-01-04", "2015-01-05", "2999-01-01"):
                add["modificationTime"] = 0
        commit.write_text("\n".join(json.dumps(action) for action in actions))
    stock.query_none(f"create table {stock.schema}.logs using delta location '{folder}'")
    return folder


def live(folder: Path) -> dict[str, list[str]]:
    """The files of each day, by delta-rs."""
    found: dict[str, list[str]] = {}
    for file in sorted(DeltaTable(folder).file_uris()):
        found.setdefault(file.split("day=")[1].split("/")[0], []).append(file)
    return found


def content(folder: Path) -> pd.DataFrame:
    rows = DeltaTable(folder).to_pandas().astype(str)
    return rows.sort_values(list(rows), ignore_index=True)


@pytest.mark.proves("pruning", on="thrift")
def test_plain_queries_skip_files_by_their_tags(stock: Stock) -> None:
    written = WrittenLog(stock.root / "t", rows=9)
    written.commit(3)
    commit = stock.root / "t/_delta_log" / f"{1:020}.json"
    # The first file's tag leaves out a number that it has: who heeds the tag finds it twice.
    tags = {marks.AUTOMATA_TAG: '{"id":{"v":1,"type":"bigint","in":[0,3,5,8]}}'}
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    next(one for one in actions if "add" in one)["add"]["tags"] = tags
    commit.write_text("".join(json.dumps(one) + "\n" for one in actions))
    asked = f"select id from delta.`{stock.root}/t` where id = 4"
    assert len(stock.query(asked)) == 2
    stock.query_none(f"set {SETTING} = false")
    assert len(stock.query(asked)) == 3


@pytest.mark.slow
@pytest.mark.proves("compaction", on="thrift")
def test_small_files_of_the_buckets_that_need_it_are_merged(stock: Stock, logs: Path) -> None:
    files, rows = live(logs), content(logs)
    large = max(files["2015-01-03"], key=lambda file: Path(file).stat().st_size)
    assert 20 * 2**10 < Path(large).stat().st_size < 40 * 2**10

    stock.dbt("run-operation", "alluvium.compact", "--args", "{model: logs, dry_run: true}")
    statement = (
        f"optimize {stock.schema}.logs where `day` in"
        " (date'2015-01-01', date'2015-01-03', date'2015-01-04') or `day` is null"
    )
    assert stock.said(f"logs: would run `{statement}` for 14 small files in 4 buckets")
    assert live(logs) == files

    stock.dbt("run")
    assert stock.said("logs: optimized 14 small files in 4 buckets")
    after = live(logs)
    assert {day: len(found) for day, found in after.items()} == {
        "2015-01-01": 1, "2015-01-02": 2, "2015-01-03": 2, "2015-01-04": 1, "2015-01-05": 1,
        "2999-01-01": 2, "__HIVE_DEFAULT_PARTITION__": 1,
    }  # fmt: skip
    for day in ("2015-01-02", "2015-01-05", "2999-01-01"):
        assert after[day] == files[day]
    assert large in after["2015-01-03"]
    pd.testing.assert_frame_equal(content(logs), rows)
    # The session is as it was.
    seen = stock.query("select * from {s}.seen")
    assert seen.values.tolist() == [[str(2**30), str(2**30)]]

    version = DeltaTable(logs).version()
    stock.dbt("run-operation", "alluvium.compact", "--args", "{model: logs}")
    assert DeltaTable(logs).version() == version


@pytest.mark.slow
def test_old_buckets_are_dropped(stock: Stock, logs: Path) -> None:
    files, rows = live(logs), content(logs)
    stock.dbt("run-operation", "alluvium.drop_old_buckets", "--args", "{model: logs}")
    old = [file for day, found in files.items() if day.startswith("2015") for file in found]
    size = sum(Path(file).stat().st_size for file in old) / 2**20
    assert stock.said(
        f"logs: would drop 5 buckets over for 3650 days: 14 files, {size:,.1f} MiB, 830 rows"
    )
    assert stock.said("  2015-01-03: 5 files")
    assert live(logs) == files
    dropping = "{model: logs, dry_run: false}"
    stock.dbt("run-operation", "alluvium.drop_old_buckets", "--args", dropping)
    assert stock.said("logs: dropped 5 buckets")
    kept = {day: files[day] for day in ("2999-01-01", "__HIVE_DEFAULT_PARTITION__")}
    assert live(logs) == kept
    expected = rows[~rows["day"].str.startswith("2015")].reset_index(drop=True)
    pd.testing.assert_frame_equal(content(logs), expected)
    # Files that this retention still keeps.
    stock.dbt("run-operation", "alluvium.vacuum", "--args", "{model: logs}")
    assert stock.said("logs: would delete 0 files")
    stock.query_none(
        f"alter table {stock.schema}.logs set tblproperties"
        " ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    stock.dbt("run-operation", "alluvium.vacuum", "--args", "{model: logs}")
    assert stock.said("logs: would delete 14 files")
    assert all(Path(file).exists() for file in old)
    stock.dbt("run-operation", "alluvium.vacuum", "--args", dropping)
    assert not any(Path(file).exists() for file in old)
    assert live(logs) == kept
