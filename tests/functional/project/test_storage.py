"""What one can see of the storage: against delta-rs, DESCRIBE HISTORY and the files themselves."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable
from functional.delta_rs import by_query, folder_of
from functional.runner import REPO, Project

from alluvium.compact.run import compact
from alluvium.plan.layout.settings import parse_layout

pytestmark = pytest.mark.spark
ON = ("--vars", "{alluvium_storage: true}")
STORAGE = {
    *("alluvium_fragments", "alluvium_buckets", "alluvium_compactions"),
    *("alluvium_snapshots", "alluvium_segments"),
}
LAYOUT = {
    "sort_by": ["service", "status"],
    "bucket_by": {"column": "day", "window": "day"},
    "target_rows": 400,
    "fan_in": 8,
}
# Two days long ago, which are quiet, and one that has not ended.
OLD, LATE, NEW = "2024-03-01", "2024-03-02", "2199-01-01"


def models(*limits: tuple[str, Any]) -> str:
    """The models' YAML, with generic tests of `logs` that have these limits."""
    tests = [{f"alluvium.{name}": {"arguments": {"max": value}}} for name, value in limits]
    metas = {
        "logs": {"alluvium_layout": LAYOUT},
        "never": {"alluvium_layout": {"sort_by": "id"}},
        "items": {"alluvium_merge": {"on_match": "ignore"}},
    }
    found = [{"name": name, "config": {"meta": meta}} for name, meta in metas.items()]
    found[0]["data_tests"] = tests
    return yaml.safe_dump({"models": found})


@dataclass
class Stored(Project):
    """A project whose tables stay as they were made."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    empty_buckets: pd.DataFrame = field(default_factory=pd.DataFrame)
    _answers: dict[str, pd.DataFrame] = field(default_factory=dict)

    def once(self, query: str) -> pd.DataFrame:
        """As `sql`, but Spark is asked once only."""
        if query not in self._answers:
            self._answers[query] = self.sql(query)
        return self._answers[query]


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Another project, with a table that was appended to, compacted and deleted from."""
    made = Stored(tmp_path_factory.mktemp("storage"), home, "stored")
    target = {"type": "alluvium", "schema": "stored", "home": str(home)}
    # dbt-spark's own adapter, on the same context.
    stock = {"type": "spark", "method": "session", "host": "NA", "schema": "stored_stock"}
    profile = {"target": "t", "outputs": {"t": target, "stock": stock}}
    flags = {"send_anonymous_usage_stats": False}
    config = {"name": "mine", "profile": "p", "config-version": 2, "version": "1.0", "flags": flags}
    incremental = "{{ config(materialized='incremental', unique_key='id'"
    made.write(
        {
            "profiles.yml": yaml.safe_dump({"p": profile}),
            "dbt_project.yml": yaml.safe_dump(
                config
                | {"dispatch": [{"macro_namespace": "dbt", "search_order": ["alluvium", "dbt"]}]}
            ),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
            "models/logs.sql": incremental + ", incremental_strategy='append') }} select 1 as id",
            "models/never.sql": incremental + ", incremental_strategy='append') }} select 1 as id",
            "models/items.sql": incremental + ", incremental_strategy='merge') }} select 1 as id",
            "models/blocks.sql": "{{ config(materialized='table') }}"
            " select * from {{ alluvium.blocks(ref('logs')) }}",
            "models/models.yml": models(),
        }
    )
    made.dbt("deps")
    session = made.session
    session.sql("create schema if not exists stored")
    session.sql("create table stored.items (id bigint, v string) using delta")
    session.sql("insert into stored.items values (1, 'a'), (2, 'b')")
    session.sql(
        "create table stored.logs (service string, status int, n int, day date) using delta"
        " partitioned by (day) tblproperties ('delta.enableDeletionVectors'='true')"
    )
    for day in (OLD, NEW):
        append(made, day, *range(9))
    compact(session, "stored.logs", parse_layout("logs", LAYOUT), "logs", clock=in_two_days)
    session.sql(f"delete from stored.logs where day = '{OLD}' and n % 17 = 3")
    append(made, LATE, 3)
    append(made, NEW, 99)
    made.dbt("run", "--select", "alluvium.storage", "--empty", *ON)
    made.empty_buckets = made.read("select * from {s}.alluvium_buckets")
    with pytest.MonkeyPatch.context() as patch:
        # Long enough after the arrivals for a bucket to be quiet.
        patch.setattr("dbt.adapters.alluvium.storage.time", SimpleNamespace(time=in_two_days))
        made.dbt("build", "--select", "alluvium.storage", "blocks", *ON)
    made.nodes = list(manifest(made)["nodes"].values())
    return made


def in_two_days() -> float:
    return time.time() + 2 * 86400


def append(project: Project, day: str, *seeds: int) -> None:
    """A commit with a file for each seed."""
    seed = f"element_at(array({', '.join(map(str, seeds))}), cast(id div 50 as int) + 1)"
    project.session.sql(
        "select if(n % 10 = 0, null, concat('s', pmod(hash(n, seed), 20))) as service,"
        f" pmod(hash(n, seed, 1), 3) as status, cast(n as int) as n, date'{day}' as day"
        f" from (select id % 50 as n, {seed} as seed"
        f" from range(0, {50 * len(seeds)}, 1, {len(seeds)}))"
    ).writeTo("stored.logs").append()


def folder(project: Project, table: str) -> Path:
    return folder_of(project.home, "stored", table)


def add_actions(project: Project, table: str) -> pd.DataFrame:
    """The live files, as delta-rs reads the log."""
    return pa.table(DeltaTable(folder(project, table)).get_add_actions(flatten=True)).to_pandas()


def live(project: Project) -> pd.DataFrame:
    """The live files of `logs` as delta-rs reads them, with what DuckDB finds in each."""
    root = folder(project, "logs")
    files = add_actions(project, "logs")
    found: dict[str, list[Any]] = {"lo": [], "hi": [], "in_order": []}
    for path in files["path"]:
        keys = duckdb.sql(f"select service, status from read_parquet('{root / path}')").fetchall()
        ordered = [(one[0] is not None, one[0] or "", one[1]) for one in keys]
        found["lo"].append(min(ordered))
        found["hi"].append(max(ordered))
        found["in_order"].append(ordered == sorted(ordered))
    for name, values in found.items():
        files[name] = values
    return files.set_index("path")


def history(project: Stored, table: str) -> pd.DataFrame:
    return project.once(f"describe history {{s}}.{table}").set_index("version").sort_index()


def fragments(project: Project, name: str = "logs") -> pd.DataFrame:
    query = f"select * from {{s}}.alluvium_fragments where model = '{name}'"
    return project.read(query).set_index("path")


def test_fragments_are_the_live_files(project: Stored) -> None:
    files, ours = live(project), fragments(project)
    assert set(ours.index) == set(files.index)
    files = files.loc[ours.index]
    assert ours["bytes"].tolist() == files["size_bytes"].tolist()
    assert (ours["row_count"] + ours["deleted_rows"]).tolist() == files["num_records"].tolist()
    by_day = ours.groupby("bucket")[["row_count", "deleted_rows"]].sum()
    rows = project.read("select day, count(*) as n from {s}.logs group by day")
    assert {json.loads(b)["day"]: n for b, n in by_day["row_count"].items()} == {
        str(day)[:10]: n for day, n in zip(rows["day"], rows["n"], strict=True)
    }
    assert by_day["deleted_rows"].sum() > 0
    assert set(ours["table_version"]) == {history(project, "logs").index.max()}
    assert {name.replace("`", "") for name in ours["table_name"]} == {"stored.logs"}


def test_fragments_that_are_called_sorted_are(project: Stored) -> None:
    files, ours = live(project), fragments(project)
    assert {True, False} == set(ours["is_sorted"])
    for path, one in ours[ours["is_sorted"]].iterrows():
        file = files.loc[path]
        assert file["in_order"], path
        for ours_key, theirs in ((one["lo"], file["lo"]), (one["hi"], file["hi"])):
            service = theirs[1] if theirs[0] else None
            assert json.loads(ours_key) == [service, theirs[2]]
        assert one["is_full"] == (file["num_records"] - one["deleted_rows"] >= 200)
        assert one["tier_bytes"] >= 0
    unsorted = ours[~ours["is_sorted"]]
    assert unsorted[["lo", "hi", "level"]].isna().all(axis=None)
    assert not unsorted["is_full"].any()
    assert (unsorted[["tier_bytes", "locality_bytes"]] == 0).all(axis=None)


def test_a_merged_table_without_a_layout_has_its_files(project: Stored) -> None:
    ours = fragments(project, "items")
    assert sorted(ours.index) == sorted(add_actions(project, "items")["path"])
    assert ours["row_count"].sum() == 2
    assert ours[["is_sorted", "level", "lo", "hi", "is_full"]].isna().all(axis=None)
    bucket = project.read("select * from {s}.alluvium_buckets where model = 'items'").iloc[0]
    assert (bucket["bucket"], bucket["fragments"], bucket["row_count"]) == ("", len(ours), 2)
    assert pd.isna(bucket["state"])
    assert fragments(project, "never").empty


def test_buckets_say_what_they_wait_for(project: Stored) -> None:
    files, ours = live(project), fragments(project)
    buckets = project.read("select * from {s}.alluvium_buckets where model = 'logs'")
    buckets["day"] = [json.loads(one)["day"] for one in buckets["bucket"]]
    buckets = buckets.set_index("day")
    # Deleted rows are a few only, so what was compacted stays; what came late makes a day due.
    assert buckets["state"].to_dict() == {OLD: "final", LATE: "quiet", NEW: "dirty"}
    assert buckets["ends_at"].map(str).to_dict() == {
        day: str(datetime.fromisoformat(day) + timedelta(days=1)) for day in (OLD, LATE, NEW)
    }
    for _, bucket in buckets.iterrows():
        mine = ours[ours["bucket"] == bucket["bucket"]]
        unsorted = mine[~mine["is_sorted"]]
        assert bucket["fragments"] == len(mine)
        assert bucket["bytes"] == mine["bytes"].sum()
        assert bucket["row_count"] == mine["row_count"].sum()
        assert bucket["deleted_rows"] == mine["deleted_rows"].sum()
        assert bucket["unsorted_fragments"] == len(unsorted)
        assert bucket["small_fragments"] == (~mine["is_full"].astype(bool)).sum()
        assert bucket["arrived_at"] == mine["arrived_at"].max()
        since = unsorted["arrived_at"].min()
        assert pd.isna(since) == pd.isna(bucket["dirty_since"])
        assert pd.isna(since) or bucket["dirty_since"] == since
        assert bucket["overlap_depth"] == deepest(files.loc[mine.index], set(unsorted.index))
    assert buckets["overlap_depth"].max() > 1


def deepest(files: pd.DataFrame, unsorted: set[str]) -> int:
    """The largest set of files of which each overlaps each, set by set.

    Of an unsorted one the log's bounds of the first column are all that is known.
    """
    ends = []
    for path, file in files.iterrows():
        lo, hi = file["lo"], file["hi"]
        if path in unsorted:
            lo, hi = (*lo[:2], -1) if lo[0] else (False, "", -1), (*hi[:2], 9)
        ends.append((lo, hi))
    for size in range(len(ends), 0, -1):
        for chosen in combinations(ends, size):
            if all(a[0] < b[1] and b[0] < a[1] for a, b in combinations(chosen, 2)):
                return size
    return 0


def test_compactions_are_those_of_the_history(project: Stored) -> None:
    done = project.read("select * from {s}.alluvium_compactions order by version")
    commits = history(project, "logs")
    ours = commits[commits["userMetadata"].str.contains("alluvium_compaction", na=False)]
    assert set(done["model"]) == {"logs"}
    assert done["version"].tolist() == ours.index.tolist() != []
    assert {"final", "count"} <= set(done["reason"])
    for (_, one), (_, commit) in zip(done.iterrows(), ours.iterrows(), strict=True):
        metrics = commit["operationMetrics"]
        assert commit["operation"] == "OPTIMIZE"
        assert str(one["inputs"]) == metrics["numRemovedFiles"]
        assert str(one["outputs"]) == metrics["numAddedFiles"]
        assert str(one["bytes_written"]) == metrics["numAddedBytes"]
        [said] = json.loads(commit["userMetadata"])["alluvium_compaction"]
        assert one["merge_number"] == 1
        assert one["reason"] == said["reason"]
        assert one["bucket"] == said["bucket"]
        assert 0 < one["cpu_seconds"] <= one["core_seconds"] + 0.05 < 600
        assert abs((one["committed_at"] - commit["timestamp"]).total_seconds()) < 60
        assert pd.isna(one["relabelled"])


def snapshots(project: Stored, table: str) -> pd.DataFrame:
    query = f"select * from {{s}}.alluvium_snapshots where model = '{table}' order by version"
    return project.read(query).set_index("version")


def plain_bytes(file: Path) -> int:
    """Bytes of a file's columns before compression, as PyArrow reads its footer."""
    footer = pq.read_metadata(file)
    return sum(footer.row_group(n).total_byte_size for n in range(footer.num_row_groups))


def check_snapshots(project: Stored, table: str) -> pd.DataFrame:
    """Every snapshot beside what delta-rs, PyArrow and Delta's history say of it."""
    commits, ours = history(project, table), snapshots(project, table)
    assert ours.index.tolist() == commits.index.tolist()
    assert ours["operation"].tolist() == commits["operation"].tolist()
    assert ours["previous_snapshot_id"].tolist() == [None, *ours["snapshot_id"].tolist()[:-1]]
    assert ours.index[ours["is_head"]].tolist() == [commits.index.max()]
    root, before, deleted = folder(project, table), set(), False
    for version, one in ours.iterrows():
        files = pa.table(DeltaTable(root, version=int(version)).get_add_actions()).to_pandas()
        paths = set(files["path"])
        assert one["blocks"] == len(paths)
        assert one["blocks_added"] == len(paths - before)
        assert one["blocks_removed"] == len(before - paths)
        assert one["bytes"] == files["size_bytes"].sum()
        assert one["bytes_uncompressed"] == sum(plain_bytes(root / unquote(path)) for path in paths)
        deleted = deleted or one["operation"] == "DELETE"
        if not deleted:
            assert one["row_count"] == files["num_records"].sum()
        before = paths
    assert one["row_count"] == project.read(f"select count(*) as n from {{s}}.{table}")["n"][0]
    net = (ours["rows_added"] - ours["rows_removed"]).cumsum()
    assert net.tolist() == ours["row_count"].tolist()
    return ours


def test_snapshots_are_what_other_engines_see(project: Stored) -> None:
    ours = check_snapshots(project, "logs")
    deleted = ours[ours["operation"] == "DELETE"].iloc[0]
    metrics = history(project, "logs").loc[deleted.name, "operationMetrics"]
    assert str(deleted["rows_removed"]) == metrics["numDeletedRows"] != "0"
    assert deleted["rows_added"] == 0
    moved = ours[ours["operation"] == "OPTIMIZE"]
    assert (moved["blocks_removed"] > 0).all()
    assert (moved[["rows_added", "rows_removed"]] == 0).all(axis=None)


def test_segments_and_blocks_are_those_of_head(project: Stored) -> None:
    blocks = project.sql("select * from {s}.blocks").set_index("path")
    files, root = fragments(project), folder(project, "logs")
    assert sorted(blocks.index) == sorted(files.index)
    same = ["row_count", "deleted_rows", "bytes"]
    assert blocks.loc[files.index, same].to_dict() == files[same].to_dict()
    for path, one in blocks.iterrows():
        footer = pq.read_metadata(root / path)
        chunks = [footer.row_group(0).column(n) for n in range(footer.num_columns)]
        assert one["row_groups"] == footer.num_row_groups == 1
        assert one["compression"] == chunks[0].compression.lower()
        assert [tuple(column.values()) for column in one["columns"]] == [
            (c.path_in_schema, c.total_compressed_size, c.total_uncompressed_size) for c in chunks
        ]
    segments = project.read("select * from {s}.alluvium_segments where model = 'logs'")
    by_segment = blocks.groupby("segment")[[*same, "bytes_uncompressed"]].sum()
    assert segments.set_index("segment")[by_segment.columns].to_dict() == by_segment.to_dict()
    head = snapshots(project, "logs").iloc[-1]
    assert (head["segments"], head["blocks"]) == (len(segments), len(blocks))
    for _, one in segments.iterrows():
        lines = (root / f"_delta_log/{one['segment']:020}.json").read_text().splitlines()
        brought = {found["add"]["path"] for found in map(json.loads, lines) if "add" in found}
        mine = blocks[blocks["segment"] == one["segment"]]
        assert len(mine) == one["blocks"]
        assert set(mine.index) <= brought


def show(project: Project, query: str) -> pd.DataFrame:
    """The rows of a query with Jinja, in which `walk` is the table of the test below."""
    relation = "api.Relation.create(schema='stored', identifier='walk')"
    done = project.dbt("show", "--inline", query.replace("walk", relation), "--limit", "-1")
    found = done.result.results[0].agate_table
    return pd.DataFrame([tuple(row) for row in found.rows], columns=found.column_names)


def test_two_inserts_are_two_linked_snapshots(project: Stored) -> None:
    """And a table that is made at the first of them has its row."""
    session = project.session
    session.sql("create table stored.walk (id int) using delta")
    session.sql("insert into stored.walk values (1)")
    session.sql("insert into stored.walk values (2)")
    found = show(project, "select * from {{ alluvium.snapshots(walk) }} order by version")
    root = folder(project, "walk")
    made, first, second = (
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted((root / "_delta_log").glob("*.json"))
    )
    ids = [lines[0]["commitInfo"]["txnId"] for lines in (made, first, second)]
    assert found["snapshot_id"].tolist() == ids
    assert found["previous_snapshot_id"].tolist() == [None, *ids[:2]]
    assert found["is_head"].tolist() == [False, False, True]
    added = [one["add"] for one in (*first, *second) if "add" in one]
    rows = [json.loads(one["stats"])["numRecords"] for one in added]
    assert found["row_count"].tolist() == [0, rows[0], sum(rows)] == [0, 1, 2]
    assert found["blocks"].tolist() == found["segments"].tolist() == [0, 1, 2]
    assert found["bytes"].tolist() == [0, added[0]["size"], sum(one["size"] for one in added)]
    plain = [plain_bytes(root / one["path"]) for one in added]
    assert found["bytes_uncompressed"].tolist() == [0, plain[0], sum(plain)]
    then = [DeltaTable(root, version=version) for version in (1, 2)]
    assert [len(by_query(table)) for table in then] == [1, 2]
    query = "select segment, '' as path, blocks from {{ alluvium.segments(walk, version=1) }}"
    query += " union all select segment, path, 1 from {{ alluvium.blocks(walk, version=1) }}"
    then = show(project, f"select * from ({query}) order by path")
    assert then.values.tolist() == [[1, "", 1], [1, added[0]["path"], 1]]
    wrong = project.try_dbt(
        "show",
        "--inline",
        "select * from {{ alluvium.blocks(ref('items'), version=9) }}",
    )
    assert "alluvium.blocks: version is 9; accepted: those of stored.items" in str(
        wrong.exception or project.lines
    )


def operate(project: Project, arguments: dict[str, Any]) -> list[str]:
    """What `alluvium.commits` printed."""
    done = project.try_dbt("run-operation", "alluvium.commits", "--args", json.dumps(arguments))
    assert done.exception is None, done.exception
    return project.lines


def test_the_log_is_the_history_newest_first(project: Stored) -> None:
    commits, ours = history(project, "logs"), snapshots(project, "logs")
    said = operate(project, {"model": "logs", "limit": len(commits)})
    lines = [line for line in said if line[:1].isdigit() and " UTC  " in line]
    versions = [int(line.split()[0]) for line in lines]
    assert versions == sorted(commits.index, reverse=True)
    head = "(HEAD)"
    assert [line for line in lines if head in line] == lines[:1]
    for version, line in zip(versions, lines, strict=True):
        one, parts = ours.loc[version], line.replace(f" {head}", "").split("  ")
        # DESCRIBE HISTORY has the time of the commit's file, which comes a moment later.
        text = (folder(project, "logs") / f"_delta_log/{version:020}.json").read_text()
        (info,) = (a["commitInfo"] for a in map(json.loads, text.splitlines()) if "commitInfo" in a)
        at = pd.Timestamp(info["timestamp"], unit="ms")
        assert parts[1] == f"{at:%Y-%m-%d %H:%M:%S} UTC"
        assert 0 <= (commits.loc[version, "timestamp"] - at).total_seconds() < 60
        assert parts[2] == one["operation"]
        changed = f"+{one['rows_added']:,} -{one['rows_removed']:,} rows"
        assert (changed in parts) == (changed != "+0 -0 rows")
        assert parts[-1] == f"by {one['author']}"
    assert len(operate(project, {"model": "logs", "limit": 2, "since": "2199-01-01"})) > 0
    assert project.said("logs: no version since 2199-01-01")


def test_one_version_in_full(project: Stored) -> None:
    commits = history(project, "logs")
    version = int(commits.index[commits["operation"] == "OPTIMIZE"][0])
    said = operate(project, {"model": "logs", "show": version})
    path = folder(project, "logs") / f"_delta_log/{version:020}.json"
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for kind, sign in (("add", "+"), ("remove", "-")):
        paths = {one[kind]["path"] for one in found if kind in one}
        shown = {line.split()[1].rstrip(":") for line in said if line.startswith(f"  {sign} ")}
        assert shown == paths != set()
    assert any("alluvium_compaction" in line for line in said)
    operate(project, {"model": "logs", "show": 9999})
    last = commits.index.max()
    assert project.said(
        f"show is 9999; accepted: the versions of stored.logs that its log tells, 0 to {last}"
    )


def limit(project: Project, *limits: tuple[str, Any]) -> None:
    project.write({"models/models.yml": models(*limits)})


def statuses(project: Project, *limits: tuple[str, Any]) -> dict[tuple[str, Any], str]:
    """Status of the generic test of each limit."""
    limit(project, *limits)
    done = project.try_dbt("test", "--select", "logs")
    assert done.exception is None, done.exception
    tests = [one for one in done.result.results if one.node.resource_type == "test"]
    assert len(tests) == len(limits)
    return {
        (one.node.test_metadata.name, one.node.test_metadata.kwargs["max"]): str(one.status)
        for one in tests
    }


def test_limits_are_kept_or_not(project: Stored) -> None:
    buckets = project.read("select * from {s}.alluvium_buckets where model = 'logs'")
    commits = history(project, "logs")
    metrics = pd.DataFrame(commits["operationMetrics"].tolist(), index=commits.index)
    came = metrics.loc[commits["operation"] == "WRITE", "numOutputBytes"].astype(int).sum()
    again = metrics.loc[commits["operation"] == "OPTIMIZE", "numAddedBytes"].astype(int).sum()
    most = {
        "overlap_depth": int(buckets["overlap_depth"].max()),
        "fragments_per_bucket": int(buckets["fragments"].max()),
        "write_amplification": 1 + int(again) / int(came),
    }
    assert 1.1 < most["write_amplification"] < 3
    # The division is another's, so no limit is its result.
    expected = {(name, value * 1.0001): "pass" for name, value in most.items()}
    expected["write_amplification", 9] = "pass"
    expected["write_amplification", most["write_amplification"] * 0.9999] = "fail"
    for name in ("overlap_depth", "fragments_per_bucket"):
        expected |= {(name, most[name]): "pass", (name, most[name] - 1): "fail"}
    assert statuses(project, *expected) == expected


@pytest.mark.parametrize(
    ("test", "value"),
    [("overlap_depth", "many"), ("fragments_per_bucket", True), ("write_amplification", 0.5)],
)
def test_a_limit_that_is_none_is_refused(project: Stored, test: str, value: Any) -> None:
    limit(project, (test, value))
    done = project.try_dbt("parse")
    limit(project)
    assert not done.success
    shown = json.dumps(value)
    assert f"alluvium.{test}: max is {shown}; accepted: a number from 1 on" in str(done.exception)


def test_an_empty_run_reads_no_log(project: Stored) -> None:
    """It came before the build, which then has rows."""
    buckets = project.read("select * from {s}.alluvium_buckets")
    assert project.empty_buckets.empty
    assert list(project.empty_buckets.columns) == list(buckets.columns)
    assert not buckets.empty


def manifest(project: Project) -> dict[str, Any]:
    return json.loads((project.root / "target/manifest.json").read_text())


def test_they_are_all_that_the_package_adds(project: Stored) -> None:
    models = {node["name"] for node in project.nodes if node["resource_type"] == "model"}
    assert models == {"logs", "never", "items", "blocks"} | STORAGE


def test_every_column_is_described(project: Stored) -> None:
    nodes = {node["name"]: node for node in project.nodes}
    for name in STORAGE:
        columns = [field.name for field in DeltaTable(folder(project, name)).schema().fields]
        assert list(nodes[name]["columns"]) == columns
        assert all(one["description"].strip() for one in nodes[name]["columns"].values())


def test_stock_targets_have_none_and_say_so(project: Stored) -> None:
    limit(project, ("overlap_depth", 9))
    project.dbt("parse", "--target", "stock", "--no-partial-parse", *ON)
    assert not STORAGE & {node["name"] for node in manifest(project)["nodes"].values()}
    done = project.try_dbt("test", "--select", "logs", "--target", "stock", *ON)
    assert not done.success
    assert project.said("alluvium.overlap_depth: the target is of type spark")
