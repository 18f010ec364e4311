"""The whole project built as a person builds it, with its data tests; then its feeds go on.

It parses and documents without a warning, and everything in it is described. One build for all
that is looked at here, for it takes as long as a hundred small tests. Batch after batch, DuckDB and
pandas say from the landed files what the tables must hold. Other engines then read them as Spark
does: delta-rs, and DuckDB on top.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError
from functional.delta_rs import by_query, folder_of, live_adds
from functional.project import expected, story
from functional.project.reference import ENGINES, Reference, groups
from functional.runner import REPO
from functional.sorted_files import is_sorted
from oracle.flights import replay_duckdb, replay_pandas

from alluvium.compact.run import compact
from alluvium.demo.edits import replay_edits
from alluvium.marks import LAYOUT_TAG
from alluvium.plan.layout.settings import parse_layout

pytestmark = pytest.mark.spark
LIVE = "select * from {} where not coalesce(_deleted, false)"
# Delta computes `landed_at_day` of it, which the model does not select.
BUCKETS = """
{{ config(materialized='table', meta={'alluvium_layout': {
    'sort_by': 'flight', 'bucket_by': {'column': 'landed_at', 'window': 'day'}}}) }}
select carrier, flight, dep_at as landed_at from {{ ref('flights') }} as flights
"""
# The page's way to switch off what delta-rs refuses, for a folder.
OFF = "    +tblproperties: {delta.enableDeletionVectors: 'false'}\n"
# Method and engine of the two batches. The first is that of the build, by the settings as they
# stand in the repository; `test_oracle.py` has all methods.
FIRST, SECOND = ("kmeans", "auto"), ("cover", "merge_into")
# Of so many runways one lands; the one that is updated and deleted on one day is among them.
EVERY = 42


@dataclass
class Edits:
    """What had landed of the edits, and what the tables were then."""

    files: list[Path]
    rows: pa.Table
    bronze: int
    figures: dict[str, Any]


@dataclass
class Turn:
    """A batch that was merged: its method, and what was there then."""

    method: str
    engine: str
    flights: pd.DataFrame
    planned: str
    figures: dict[str, Any]


@dataclass
class Built:
    """The reference project after its build, which merged the first of `batches`."""

    project: Reference
    batches: list[list[Path]]
    artifacts: dict[str, dict[str, Any]]
    turns: list[Turn]
    edits: Edits


@pytest.fixture(scope="module")
def built(make_reference: Callable[..., Reference], replayed: Callable[[int], list[Path]]) -> Built:
    made = make_reference()
    config = (made.root / "dbt_project.yml").read_text()
    made.write({"dbt_project.yml": config.replace("    edits:\n", "    edits:\n  " + OFF, 1)})
    first = replayed(1)
    batches = [first, *groups(replayed(3)[len(first) :], 2, seed=5)]
    made.land(first)
    replay_edits(landing(made), 8, duplicate_rate=0.05)
    story.land(landing(made), ["2025-01-30"], EVERY)
    made.dbt("build", "--warn-error", "--show-all-deprecations")
    found = {name: artifact(made, name) for name in ("manifest.json", "run_results.json")}
    turns, edits = [turn(made, *FIRST)], edits_of(made)
    made.dbt("docs", "generate", "--warn-error")
    found |= {name: artifact(made, name) for name in ("manifest.json", "catalog.json")}
    return Built(made, batches, found, turns, edits)


@pytest.fixture(scope="module")
def project(built: Built) -> Reference:
    return built.project


def landing(project: Reference) -> Path:
    return project.landing.parent


def artifact(project: Reference, name: str) -> dict[str, Any]:
    return json.loads((project.root / "target" / name).read_text())


def history(project: Reference, table: str) -> list[dict[str, Any]]:
    """Its commits as delta-rs reads the log, newest first."""
    return DeltaTable(folder_of(project.home, project.schema, table)).history()


def turn(project: Reference, method: str, engine: str) -> Turn:
    planned = project.read("select max(method) m from {s}.flights_ranges")["m"][0]
    return Turn(method, engine, project.table("flights"), str(planned), project.figures("flights"))


def edits_of(project: Reference) -> Edits:
    return Edits(
        sorted((landing(project) / "edits").rglob("*.jsonl")),
        expected.rows(project, "edits"),
        len(project.table("edits_events")),
        project.figures("edits"),
    )


def test_everything_ran_and_passed(built: Built) -> None:
    nodes = built.artifacts["manifest.json"]["nodes"]
    # dbt leaves the tests of a model that is not enabled among the nodes.
    wanted = {
        key: "pass" if node["resource_type"] == "test" else "success"
        for key, node in nodes.items()
        if node["config"]["enabled"]
    }
    assert sum(status == "pass" for status in wanted.values()) > 30
    results = built.artifacts["run_results.json"]["results"]
    assert {result["unique_id"]: result["status"] for result in results} == wanted


def test_the_marts(built: Built) -> None:
    (merged,) = replay_duckdb(built.batches[:1])
    for mart, query in expected.marts(built.edits.files).items():
        found = expected.rows(built.project, mart)
        expected.assert_holds(found, "*", query, ("flights", merged.live))
        assert len(found) > 50


def test_rejected_lines_are_kept_in_order(project: Reference) -> None:
    commits = history(project, "flights_rejected")
    # Nothing is old enough to be deleted: the vacuum behind it is no commit.
    assert [one["operation"] for one in commits[:2]] == ["OPTIMIZE", "MERGE"]
    sorted_by = commits[0]["operationParameters"]["zOrderBy"]
    assert sorted_by == '["reject_reason","_source_partition"]'
    project.check_lines()


@pytest.fixture
def stale(project: Reference) -> Iterator[dict[str, float]]:
    """The edits landed eight days ago; when the newest file of each feed was written."""
    files = {
        feed: list((landing(project) / feed).rglob("*.jsonl")) for feed in ("flights", "edits")
    }
    before = {path: path.stat() for path in files["edits"]}
    for place, path in enumerate(files["edits"]):
        written = time.time() - 8 * 86_400 - place
        os.utime(path, (written, written))
    yield {feed: max(path.stat().st_mtime for path in paths) for feed, paths in files.items()}
    for path, stat in before.items():
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_freshness_of_the_sources(project: Reference, stale: dict[str, float]) -> None:
    project.dbt("source", "freshness")
    found = {
        result["unique_id"].split(".")[-1]: (result["status"], result["max_loaded_at"])
        for result in artifact(project, "sources.json")["results"]
    }
    assert {feed: status for feed, (status, _) in found.items()} == {
        "flights": "pass",
        "edits": "warn",
    }
    for feed, (_, loaded) in found.items():
        at = datetime.fromisoformat(loaded.replace("Z", "+00:00")).timestamp()
        assert at == pytest.approx(stale[feed], abs=0.01)


@pytest.mark.parametrize(
    ("name", "curve", "sort_by"),
    [
        ("edits", "lexical", ("channel", "edited_at")),
        ("flights", "zorder", ("sched_dep_at", "carrier", "origin")),
    ],
)
def test_the_feeds_are_compacted_as_they_declare(
    built: Built, name: str, curve: str, sort_by: tuple[str, ...]
) -> None:
    project = built.project
    node = built.artifacts["manifest.json"]["nodes"][f"model.alluvium.{name}"]
    assert "{{ alluvium.compact(this) }}" in [one["sql"] for one in node["config"]["post-hook"]]
    layout = parse_layout(name, node["config"]["meta"]["alluvium_layout"])
    assert (layout.curve, layout.sort_by) == (curve, sort_by)
    table = f"{project.schema}.{name}"
    before = sorted(expected.rows(project, name).to_pylist(), key=repr)
    # Each bucket gets its final form at once.
    done = compact(
        project.session, table, replace(layout, quiet_after=1.0), name, clock=lambda: 1e11
    )
    assert done.merges > 0
    assert sorted(expected.rows(project, name).to_pylist(), key=repr) == before
    folder = folder_of(project.home, project.schema, name)
    live = live_adds(folder)
    files = [folder / unquote(one["path"]) for one in live]
    if curve == "lexical":
        assert all(is_sorted(path, sort_by) for path in files)
    else:
        # A Z-order's first column alone bounds no file, each of its columns some.
        assert all(not is_sorted(path, sort_by) for path in files)
    tags = [json.loads(one["tags"][LAYOUT_TAG]) for one in live]
    assert len(tags) == len(DeltaTable(folder).file_uris()) > 0
    assert all(tag["row_key"].startswith(f"{curve}{json.dumps(list(sort_by))}") for tag in tags)


def test_every_table_is_in_the_catalog(built: Built) -> None:
    catalog = built.artifacts["catalog.json"]
    assert not catalog["errors"]
    nodes = built.artifacts["manifest.json"]["nodes"]
    tables = {key for key, node in nodes.items() if node["resource_type"] in ("model", "seed")}
    assert tables == set(catalog["nodes"])


def test_every_column_is_described(built: Built) -> None:
    catalog, manifest = (built.artifacts[name] for name in ("catalog.json", "manifest.json"))
    for kind in ("nodes", "sources"):
        for key, node in manifest[kind].items():
            if node["resource_type"] not in ("model", "seed", "source"):
                continue
            assert node["description"].strip(), key
            described = {n for n, c in node["columns"].items() if c["description"].strip()}
            if key in catalog["nodes"]:
                assert described == set(catalog["nodes"][key]["columns"]), key
            else:
                assert described == set(node["columns"]) != set(), key


def test_every_public_macro_is_described(built: Built) -> None:
    """Public is what the documentation or a model calls by its full name, and each generic test.

    The package's own models may call its helpers, whose names begin with `_`; docs show none.
    """
    texts = [REPO / "README.md", *(REPO / "docs").glob("*.md"), *(REPO / "models").rglob("*.*")]
    called = {
        name
        for text in texts
        for name in re.findall(
            r"\balluvium\.(\w+)\(|run-operation.* alluvium\.(\w+)", text.read_text()
        )
        for name in name
        if name
    }
    macros = built.artifacts["manifest.json"]["macros"]
    of_package = {m["name"]: m for m in macros.values() if m["package_name"] == "alluvium"}
    tests = {name for name in of_package if name.startswith("test_")}
    of_docs = "".join(text.read_text() for text in texts if text.suffix == ".md")
    assert re.findall(r"\balluvium\._\w+\(", of_docs) == []
    called = {name for name in called if not name.startswith("_")}
    public = {name: of_package.get(name) for name in called | tests}
    assert {"new_events", "deduplicate", "without_tombstones", "zorder"} <= set(public)
    assert "explain_merge" in public
    assert {"test_unique_key", "test_immutable_column", "test_overlap_depth"} <= set(public)
    for name, macro in public.items():
        assert macro is not None, f"{name} is documented and does not exist"
        assert macro["description"].strip(), name
        shown = name.removeprefix("test_")
        assert re.search(rf"\balluvium\.{shown}\b", macro["description"]), f"{name}: no example"
        signature = re.search(
            rf"(?:macro|test) {shown}\((.*?)\)\s*-?%}}", macro["macro_sql"], re.DOTALL
        )
        wanted = [part.split("=")[0].strip() for part in signature[1].split(",")]  # type: ignore[index]
        # A word of Jinja's, such as `from`, names no parameter: the macro takes it out of `kwargs`.
        words = re.findall(r"\.pop\('(\w+)', none\)", macro["macro_sql"])
        described = [a["name"] for a in macro["arguments"]]
        assert [one for one in described if one not in words] == [one for one in wanted if one], (
            name
        )
        assert set(words) <= set(described), name
        assert all(a["description"].strip() and a["type"] for a in macro["arguments"]), name


# Batch after batch --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fed(built: Built) -> Built:
    """After all batches but the last, which has not landed."""
    project = built.project
    # Documents want a description of each model, so it comes behind them.
    project.write({"models/marts/buckets.sql": BUCKETS})
    method, engine = SECOND
    project.plan_by(method, engine=engine)
    project.land(built.batches[1])
    project.run("buckets")
    built.turns.append(turn(project, *SECOND))
    return built


def test_methods_taking_turns(fed: Built) -> None:
    project, landed = fed.project, fed.batches[:-1]
    wanted = zip(replay_duckdb(landed), replay_pandas(landed), strict=True)
    for made, (one, other) in zip(fed.turns, wanted, strict=True):
        project.check(one, made.flights)
        project.check(other, made.flights)
        assert made.planned == made.figures["method"] == made.method
        assert made.figures["engine"] == ENGINES[made.engine]
    assert {made.engine for made in fed.turns} == set(ENGINES)
    project.check_lines()
    kept = project.sql("select count(*) n from {s}.flights_parsed where reject_reason is null")
    bronze, rejected = project.table("flights_events"), project.table("flights_rejected")
    assert len(bronze) == kept["n"][0] + len(rejected) > 5_000


def test_edits_are_merged_once(built: Built) -> None:
    """What comes twice in a batch."""
    check_edits(built.edits, known=0)


@pytest.mark.slow
def test_edits_that_come_again_are_not_merged(built: Built) -> None:
    """What comes twice, in two batches: no file is rewritten for it."""
    project = built.project
    replay_edits(landing(project), 3, duplicate_rate=0.05)
    project.dbt("run", "--quiet", "--select", "edits_events", "edits")
    check_edits(edits_of(project), known=len(built.edits.rows))
    newest = history(project, "edits")[0]
    assert newest["operation"] == "MERGE"
    assert newest["operationMetrics"]["numTargetFilesRemoved"] == "0"


def check_edits(made: Edits, known: int) -> None:
    """Each edit is there once.

    known: how many were before this batch, which are no upserts.
    """
    expected.assert_holds(made.rows, expected.EDITS_COLUMNS, expected.edits(made.files))
    lines = sum(len(path.read_bytes().splitlines()) for path in made.files)
    assert made.bronze == lines
    rows = len(made.rows)
    assert known < rows < lines
    assert made.figures["upserts"] == made.figures["rows_affected"] == rows - known


# Other engines --------------------------------------------------------------------------------


def sorted_rows(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=repr)


def location(project: Reference, table: str) -> Path:
    return folder_of(project.home, project.schema, table)


def spark_rows(project: Reference, table: str) -> list[Any]:
    return sorted_rows(project.session.table(f"{project.schema}.{table}").toArrow())


def is_live(row: dict[str, Any]) -> bool:
    return not row["_deleted"]


def test_the_same_rows(fed: Built) -> None:
    project = fed.project
    for name in ("flights_events", "flights_batch", "edits_events", "edits", "buckets"):
        table = DeltaTable(location(project, name)).to_pyarrow_table()
        assert sorted_rows(table) == spark_rows(project, name) != [], name
    assert "landed_at_day" in project.table("buckets")


def test_merged_tables_as_they_are(fed: Built) -> None:
    """With deletion vectors: what Arrow refuses, queries read; DuckDB goes on from their result."""
    project = fed.project
    for name in ("flights_rejected", "flights"):
        table, rows = DeltaTable(location(project, name)), spark_rows(project, name)
        with pytest.raises(DeltaProtocolError, match="deletionVectors"):
            table.to_pyarrow_dataset()
        assert sorted_rows(by_query(table)) == rows != [], name
    live = sorted_rows(by_query(table, LIVE.format("t")))
    assert live == [row for row in rows if is_live(row)]
    *_, wanted = replay_duckdb(fed.batches[:-1])
    assert len(live) == len(wanted.live)
    assert len(wanted.tombstones) > 0
    metrics = [one.get("operationMetrics", {}) for one in history(project, "flights")]
    assert any(int(m.get("numTargetDeletionVectorsAdded", 0)) for m in metrics)


@pytest.mark.slow
def test_nothing_new_is_no_commit(fed: Built) -> None:
    """The last one of the flights: it stages an empty batch. Quick: the recipes, run once more."""
    names = ("flights_events", "flights_rejected", "flights")
    versions = [fed.project.versions(name) for name in names]
    fed.project.run()
    assert [fed.project.versions(name) for name in names] == versions


@pytest.mark.slow
def test_flights_without_deletion_vectors(fed: Built) -> None:
    """Rid of them as the page says, its next merge rewrites files and Arrow reads the table."""
    project = fed.project
    config = (project.root / "dbt_project.yml").read_text()
    project.write({"dbt_project.yml": config.replace("    flights:\n", OFF + "    flights:\n", 1)})
    rid_of_vectors(project, "flights")
    project.land(fed.batches[-1])
    project.run()
    flights = DeltaTable(location(project, "flights")).to_pyarrow_dataset()
    rows = spark_rows(project, "flights")
    assert sorted_rows(flights.to_table()) == rows
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.register("flights", flights)
        live = connection.sql(LIVE.format("flights")).to_arrow_table()
    assert sorted_rows(live) == [row for row in rows if is_live(row)]
    *_, wanted = replay_duckdb(fed.batches)
    assert live.num_rows == len(wanted.live)
    assert len(wanted.tombstones) > 0


def rid_of_vectors(project: Reference, name: str) -> None:
    table = f"{project.schema}.{name}"
    for statement in (
        f"alter table {table} set tblproperties ('delta.enableDeletionVectors' = 'false')",
        f"reorg table {table} apply (purge)",
        f"alter table {table} drop feature deletionVectors",
    ):
        project.session.sql(statement)


@pytest.mark.slow
def test_deletion_vectors(project: Reference) -> None:
    """What docs/other-engines.md says of them: who refuses, who reads, how to be rid of them."""
    schema, session = project.schema, project.session
    session.sql(
        f"create table {schema}.vectors using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
        " as select id from range(0, 1000, 1, 1)"
    )
    session.sql(f"delete from {schema}.vectors where id % 10 = 0")
    wanted = spark_rows(project, "vectors")
    assert len(wanted) == 900
    table = DeltaTable(location(project, "vectors"))
    with pytest.raises(DeltaProtocolError, match="deletionVectors"):
        table.to_pyarrow_table()
    assert sorted_rows(by_query(table)) == wanted

    rid_of_vectors(project, "vectors")
    table = DeltaTable(location(project, "vectors"))
    assert sorted_rows(table.to_pyarrow_table()) == spark_rows(project, "vectors") == wanted


@pytest.mark.slow
def test_column_mapping(project: Reference) -> None:
    """The one that docs/other-engines.md warns of: as Arrow every value is NULL, without a word."""
    project.session.sql(
        f"create table {project.schema}.mapped using delta"
        " tblproperties ('delta.columnMapping.mode' = 'name') as select id from range(10)"
    )
    table = DeltaTable(location(project, "mapped"))
    assert table.to_pyarrow_table()["id"].null_count == 10
    assert sorted_rows(by_query(table)) == spark_rows(project, "mapped") != []


# Readers of what is published ------------------------------------------------------------------


def test_a_bad_publish_is_never_seen(project: Reference) -> None:
    """The first day landed before the build."""
    story.check(project, "2025-01-30", EVERY)
    story.replay(project, EVERY, ("2025-01-31",))


@pytest.mark.slow
def test_the_next_good_publish_is_seen(project: Reference) -> None:
    """After the one before: that of two days, as one build merges them."""
    story.replay(project, EVERY, ("2025-02-01", "2025-02-02"))
