"""The whole project built as a person builds it, with its data tests; then the edits feed goes on.

It parses and documents without a warning, and everything in it is described.

What its tables must hold comes from the landed files, by DuckDB's own reader.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from functional.project import story
from functional.project.reference import Reference
from functional.runner import REPO
from functional.sorted_files import files_of, is_sorted
from oracle.flights import replay_duckdb

from alluvium.compact.run import compact
from alluvium.delta.marks import LAYOUT_TAG
from alluvium.demo.edits import replay_edits
from alluvium.plan.layout.settings import parse_layout

pytestmark = pytest.mark.spark
COLUMNS = """
    event_id, cast(edited_at as varchar) as edited_at, channel, page, namespace, user_name,
    comment, is_robot, is_new, is_anonymous, country_code, added, deleted, delta
"""
# As the lines landed: the first of each id.
EDITS = f"""
    with lines as (
        select *, "time" as edited_at, "user" as user_name, isRobot as is_robot, isNew as is_new,
            isAnonymous as is_anonymous, countryIsoCode as country_code
        from read_json('{{}}/**/*.jsonl', format = 'newline_delimited', columns = {{{{
            event_id: 'varchar', "time": 'timestamp', channel: 'varchar', page: 'varchar',
            namespace: 'varchar', "user": 'varchar', comment: 'varchar', isRobot: 'boolean',
            isNew: 'boolean', isAnonymous: 'boolean', countryIsoCode: 'varchar',
            added: 'bigint', deleted: 'bigint', delta: 'bigint' }}}})
    )
    select distinct {COLUMNS} from lines
"""
SEEDS = ("airlines", "airports")
MARTS = {
    "delays_by_carrier_hour": """
        select f.carrier, a.name as airline, hour(f.sched_dep_at) as scheduled_hour,
            count(*) as flights, count(*) filter (f.status = 'diverted') as diverted,
            round(avg(f.dep_delay), 1) as mean_dep_delay,
            round(avg(f.arr_delay), 1) as mean_arr_delay,
            round(count(*) filter (f.arr_delay > 15) / count(*), 3) as share_late
        from flights as f left join airlines as a on a.carrier = f.carrier group by all
    """,
    "destinations": """
        select f.dest as airport, a.name as airport_name, a.tzone as time_zone,
            count(*) as flights, cast(min(f.flight_date) as date) as first_day,
            cast(max(f.flight_date) as date) as last_day, round(avg(f.distance)) as mean_miles,
            round(avg(f.arr_delay), 1) as mean_arr_delay
        from flights as f left join airports as a on a.faa = f.dest group by all
    """,
    "edits_by_hour": """
        select date_trunc('hour', cast(edited_at as timestamp)) as edited_hour, channel,
            count(*) as edits, count(*) filter (is_robot) as robot_edits,
            count(distinct user_name) as users, sum(added) as characters_added,
            sum(deleted) as characters_deleted
        from edits group by all
    """,
}


@pytest.fixture(scope="module")
def project(
    make_reference: Callable[..., Reference], replayed: Callable[[int], list[Path]]
) -> Reference:
    made = make_reference()
    made.land(replayed(1))
    replay_edits(landing(made), 12, duplicate_rate=0.05)
    made.dbt("parse", "--no-partial-parse", "--warn-error", "--show-all-deprecations")
    made.dbt("build")
    return made


def landing(project: Reference) -> Path:
    return project.landing.parent


def artifact(project: Reference, name: str) -> dict[str, Any]:
    return json.loads((project.root / "target" / name).read_text())


def assert_holds(
    project: Reference, table: str, columns: str, expected: str, *views: tuple[str, Any]
) -> None:
    """The same rows as DuckDB's query on `views`, as often; timestamps in UTC."""
    found = project.session.table(f"{project.schema}.{table}").toArrow()
    fields = [
        pa.field(f.name, pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f
        for f in found.schema
    ]
    with duckdb.connect() as connection:
        for name, rows in (*views, ("actual", found.cast(pa.schema(fields)))):
            connection.register(name, rows)
        actual = f"select {columns} from actual"
        assert connection.sql(f"({actual}) except all ({expected})").fetchall() == []
        assert connection.sql(f"({expected}) except all ({actual})").fetchall() == []


def test_everything_ran_and_passed(project: Reference) -> None:
    nodes = artifact(project, "manifest.json")["nodes"]
    # dbt leaves the tests of a model that is not enabled among the nodes.
    expected = {
        key: "pass" if node["resource_type"] == "test" else "success"
        for key, node in nodes.items()
        if node["config"]["enabled"]
    }
    assert sum(status == "pass" for status in expected.values()) > 30
    results = artifact(project, "run_results.json")["results"]
    assert {result["unique_id"]: result["status"] for result in results} == expected


def test_the_marts(project: Reference, replayed: Callable[[int], list[Path]]) -> None:
    (merged,) = replay_duckdb([replayed(1)])
    seeds = ", ".join(f"{name} as (from '{REPO}/seeds/{name}.csv')" for name in SEEDS)
    edits = EDITS.format(landing(project) / "edits")
    for mart, query in MARTS.items():
        expected = f"with {seeds}, edits as ({edits}) {query}"
        assert_holds(project, mart, "*", expected, ("flights", merged.live))
        assert len(project.table(mart)) > 50


def test_rejected_lines_are_kept_in_order(project: Reference) -> None:
    history = project.sql("describe history {s}.flights_rejected")
    # Newest first.
    assert history["operation"].tolist()[:4] == ["VACUUM END", "VACUUM START", "OPTIMIZE", "MERGE"]
    sorted_by = dict(history["operationParameters"][2])["zOrderBy"]
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


def test_edits_are_merged_once(project: Reference) -> None:
    """What comes twice is merged once, and no file is rewritten for it."""
    known = 0
    for goes_on in (False, True):
        if goes_on:
            replay_edits(landing(project), duplicate_rate=0.05)
            project.dbt("run", "--select", "edits_events", "edits")
        expected = EDITS.format(landing(project) / "edits")
        assert_holds(project, "edits", COLUMNS, expected)
        landed = (landing(project) / "edits").rglob("*.jsonl")
        lines = sum(len(path.read_bytes().splitlines()) for path in landed)
        assert project.sql("select count(*) as n from {s}.edits_events")["n"][0] == lines
        rows = project.sql("select count(*) as n from {s}.edits")["n"][0]
        assert rows < lines
        # What was known already is no upsert.
        figures = project.figures("edits")
        assert figures["upserts"] == figures["rows_affected"] == rows - known
        known = rows
    metrics = project.sql("describe history {s}.edits")["operationMetrics"][0]
    assert dict(metrics)["numTargetFilesRemoved"] == "0"


@pytest.mark.parametrize(
    ("name", "curve", "sort_by"),
    [
        ("edits", "lexical", ("channel", "edited_at")),
        ("flights", "zorder", ("sched_dep_at", "carrier", "origin")),
    ],
)
def test_the_feeds_are_compacted_as_they_declare(
    project: Reference, name: str, curve: str, sort_by: tuple[str, ...]
) -> None:
    node = artifact(project, "manifest.json")["nodes"][f"model.alluvium.{name}"]
    assert "{{ alluvium.compact(this) }}" in [one["sql"] for one in node["config"]["post-hook"]]
    layout = parse_layout(name, node["config"]["meta"]["alluvium_layout"])
    assert (layout.curve, layout.sort_by) == (curve, sort_by)
    table = f"{project.schema}.{name}"
    query = f"select to_json(struct(*)) as row from {table}"
    before = sorted(project.session.sql(query).toArrow()["row"].to_pylist())
    # Each bucket gets its final form at once.
    done = compact(
        project.session, table, replace(layout, quiet_after=1.0), name, clock=lambda: 1e11
    )
    assert done.merges > 0
    assert sorted(project.session.sql(query).toArrow()["row"].to_pylist()) == before
    files = files_of(project.session, table)
    location = project.session.sql(f"describe detail {table}").first()["location"]
    if curve == "lexical":
        assert all(is_sorted(path, sort_by) for path in files)
    else:
        # A Z-order's first column alone bounds no file, each of its columns some.
        assert all(not is_sorted(path, sort_by) for path in files)
    tags = [json.loads(one["tags"][LAYOUT_TAG]) for one in live_adds(location)]
    assert len(tags) == len(files)
    assert all(tag["row_key"].startswith(f"{curve}{json.dumps(list(sort_by))}") for tag in tags)


def live_adds(location: str) -> list[dict[str, Any]]:
    """The `add` action of each live file, by replaying the log."""
    live: dict[str, dict[str, Any]] = {}
    for commit in sorted(Path(location.removeprefix("file:"), "_delta_log").glob("*.json")):
        for action in map(json.loads, commit.read_text().splitlines()):
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    return list(live.values())


@pytest.fixture(scope="module")
def documented(project: Reference) -> Reference:
    project.dbt("docs", "generate", "--warn-error")
    return project


def test_every_table_is_in_the_catalog(documented: Reference) -> None:
    catalog = artifact(documented, "catalog.json")
    assert not catalog["errors"]
    nodes = artifact(documented, "manifest.json")["nodes"]
    built = {key for key, node in nodes.items() if node["resource_type"] in ("model", "seed")}
    assert built == set(catalog["nodes"])


def test_every_column_is_described(documented: Reference) -> None:
    catalog = artifact(documented, "catalog.json")
    manifest = artifact(documented, "manifest.json")
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


def test_every_public_macro_is_described(documented: Reference) -> None:
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
    macros = artifact(documented, "manifest.json")["macros"]
    of_package = {m["name"]: m for m in macros.values() if m["package_name"] == "alluvium"}
    tests = {name for name in of_package if name.startswith("test_")}
    of_docs = "".join(text.read_text() for text in texts if text.suffix == ".md")
    assert re.findall(r"\balluvium\._\w+\(", of_docs) == []
    called = {name for name in called if not name.startswith("_")}
    public = {name: of_package.get(name) for name in called | tests}
    assert {"new_events", "deduplicate", "without_tombstones", "zorder"} <= set(public)
    assert {"newest", "live"} <= set(of_package)  # their names before
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
        expected = [part.split("=")[0].strip() for part in signature[1].split(",")]  # type: ignore[index]
        # A word of Jinja's, such as `from`, names no parameter: the macro takes it out of `kwargs`.
        words = re.findall(r"\.pop\('(\w+)', none\)", macro["macro_sql"])
        described = [a["name"] for a in macro["arguments"]]
        assert [one for one in described if one not in words] == [e for e in expected if e], name
        assert set(words) <= set(described), name
        assert all(a["description"].strip() and a["type"] for a in macro["arguments"]), name


def test_a_bad_publish_is_never_seen(project: Reference) -> None:
    # Nothing had landed when the project was built.
    assert story.seen(project).num_rows == 0
    story.replay(project, every=6)  # the one that is updated and deleted on one day is among them
