"""The repository as a package of another project, and the feed that the README shows."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from functional.runner import REPO, Project

pytestmark = pytest.mark.spark
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
STORAGE = {
    *("alluvium_fragments", "alluvium_buckets", "alluvium_compactions"),
    *("alluvium_snapshots", "alluvium_segments"),
}
HEADER = re.compile(r"-- (models/\w+\.sql)\n")


def readme_blocks(title: str = "## Your own feed") -> list[tuple[str, str]]:
    """Language and text of the examples under a title, up to the next one."""
    section = (REPO / "README.md").read_text().split(f"\n{title}\n")[1]
    return BLOCK.findall(re.split(r"\n##+ ", section)[0])


def models_of(blocks: list[tuple[str, str]]) -> dict[str, str]:
    """The examples of SQL by their files, which each names in its first line."""
    found = {}
    for kind, text in blocks:
        if kind == "sql":
            header = HEADER.match(text)
            assert header, text
            found[header[1]] = text
    return found


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of the README's files, with the repository as its package."""
    profile, *sources = [yaml.safe_load(text) for kind, text in readme_blocks() if kind == "yaml"]
    (name, content), *_ = profile.items()
    for output in content["outputs"].values():
        output["home"] = str(home)
    content["outputs"]["other"] = content["outputs"]["dev"] | {"schema": "other"}
    content["outputs"]["fix"] = output | {"schema": f"{output['schema']}__fix"}
    made = Project(tmp_path_factory.mktemp("package"), home, output["schema"])
    flags = {"send_anonymous_usage_stats": False}
    config = {"name": name, "profile": name, "config-version": 2, "version": "1.0", "flags": flags}
    files = {
        "dbt_project.yml": yaml.safe_dump(config),
        "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
        "profiles.yml": yaml.safe_dump(profile),
        "models/sources.yml": yaml.safe_dump(*sources),
        "models/unit_tests.yml": UNIT_TESTS,
        "seeds/codes.csv": "code,name\n1,one\n",
    }
    made.write(files | models_of(readme_blocks()))
    made.dbt("deps")
    return made


UNIT_TESTS = """
unit_tests:
  - name: a_line_of_the_feed
    model: orders_events
    given:
      - input: source('landing', 'orders')
        rows: [{_value: "{}"}]
    expect: {rows: [{_value: "{}", _source_offset: null}]}
  - name: orders_are_parsed
    model: orders
    given:
      - input: ref('orders_events')
        rows:
          - {_value: '{"id": 1, "version": 2, "total": "3.50"}', _batch_id: 7}
          - {_value: no order, _batch_id: 6}
    expect:
      rows:
        - {id: 1, version: 2, total: 3.50, _batch_after: -1, _batch_through: 7}
        - {id: null, version: null, total: null, _batch_after: -1, _batch_through: 7}
"""


def manifest(project: Project) -> dict[str, Any]:
    return json.loads((project.root / "target/manifest.json").read_text())


def of_package(manifest: dict[str, Any]) -> set[str]:
    kinds = ("nodes", "sources", "exposures", "unit_tests", "metrics", "semantic_models")
    return {
        node["name"]
        for kind in kinds
        for node in manifest[kind].values()
        if node["package_name"] == "alluvium"
        and node["resource_type"] != "operation"
        # dbt leaves the tests of a model that is not enabled among the nodes.
        and node.get("config", {}).get("enabled", True)
    }


def test_only_its_macros_appear(project: Project) -> None:
    project.dbt("parse", "--no-partial-parse", "--warn-error")
    parsed = manifest(project)
    assert of_package(parsed) == set()
    assert "macro.alluvium.new_events" in parsed["macros"]
    of_alluvium = [one for one in parsed["macros"].values() if one["package_name"] == "alluvium"]
    in_docs = {one["name"] for one in of_alluvium if one["docs"]["show"]}
    # Public macros, and the package's data tests.
    assert {"new_events", "compact", "deduplicate", "test_unique_key"} <= in_docs
    hidden = {"_internal", "_stock"}
    in_public_files = {
        one["name"]
        for one in of_alluvium
        if not hidden & set(Path(one["original_file_path"]).parts)
    }
    assert in_docs == in_public_files
    assert len(in_docs) < len(of_alluvium) / 2
    assert not [name for name in in_docs if name.startswith("_") or "__" in name]
    own = [node["name"] for node in parsed["nodes"].values() if node["resource_type"] == "model"]
    assert sorted(own) == ["orders", "orders_events"]
    project.dbt("parse", "--no-partial-parse", "--vars", "{alluvium_demo: true}")
    shown = of_package(manifest(project))
    assert {"flights", "flights_ranges", "edits", "airlines"} < shown
    assert not STORAGE & shown


def orders(project: Project, where: str = "true") -> pd.DataFrame:
    return project.read(f"select * from {{s}}.orders where {where} order by id")


def land(project: Project, name: str, events: list[dict[str, Any]], more: str = "") -> None:
    lines = "".join(json.dumps(event) + "\n" for event in events)
    project.write({f"landing/orders/{name}.json": lines + more})


@pytest.fixture
def built(project: Project) -> Project:
    """With rows, which the test of the feed left; a slow test of a shard runs without it."""
    if not (project.root / "landing/orders").exists():
        land(project, "0", [LATER | {"id": key, "version": key} for key in range(9)])
        project.dbt("build")
    return project


def assert_newest(project: Project, without: tuple[str, ...] = ()) -> None:
    """The table has the newest change of each order, but for those of some files."""
    files = (project.root / "landing/orders").glob("*.json")
    landed = [file.read_text().splitlines() for file in files if file.stem not in without]
    changes = [json.loads(line) for lines in landed for line in lines if line.startswith("{")]
    newest = pd.DataFrame(changes).sort_values("version").drop_duplicates("id", keep="last")
    table = project.read(
        "select id, version, strftime(created_at, '%Y-%m-%dT%H:%M:%SZ') created_at,"
        " cast(total as varchar) total from {s}.orders order by id"
    )
    pd.testing.assert_frame_equal(
        table, newest.sort_values("id", ignore_index=True), check_dtype=False
    )


def test_the_feed_of_the_readme(project: Project) -> None:
    # Nothing has landed yet, which is no mistake.
    project.dbt("run")
    assert project.said(f"orders_events: no such folder: {project.root / 'landing/orders'}")
    assert orders(project).empty
    rng = random.Random(7)
    events = [
        {
            "id": (key := rng.randrange(60)),
            "version": rng.randrange(1000) * 1000 + place,
            "created_at": f"2024-{1 + key % 12:02}-{1 + key % 28:02}T{key % 24:02}:00:00Z",
            "total": f"{rng.randrange(10_000) / 100:.2f}",
        }
        for place in range(100)
    ]
    land(project, "0", events, "no order\n")
    project.dbt("run")
    assert_newest(project)
    assert project.figures("orders")["events"] == 100
    assert project.figures("orders")["method"] == "min_max"
    assert set(orders(project)) == {"id", "version", "created_at", "total"}
    # With nothing new neither runs a query.
    jobs = project.session.sparkContext._jsc.sc().dagScheduler()
    before = jobs.numTotalJobs()
    project.dbt("run")
    assert project.said("orders: up to date in")
    assert jobs.numTotalJobs() == before


def test_the_feed_of_debezium(project: Project) -> None:
    """That of the README, as it stands there; of other commands it is no part."""
    blocks = readme_blocks("### A feed of Debezium")
    lines = [line for _, text in blocks for line in text.splitlines() if not line.startswith("--")]
    assert len(lines) == 10
    files = models_of(blocks)
    [source] = [text for kind, text in blocks if kind == "yaml"]
    files["models/shop.yml"] = source

    def change(op: str, place: int, **row: Any) -> str:
        image = {"before": row} if op == "d" else {"after": row}
        log = {"sequence": f'["{place}","{place}"]', "snapshot": "false", "table": "customers"}
        return json.dumps({"op": op, "source": log, "ts_ms": 5, **image})

    gone = "__debezium_unavailable_value"
    events = [
        change("c", 1, id=1, name="Ann", credit="1.50", changed_at="2025-01-01T00:00:00.000000Z"),
        change("u", 12, id=1, name=gone, credit="2.50", changed_at="2025-01-02T00:00:00.000000Z"),
        change("u", 9, id=1, name="old", credit="9.00", changed_at=None),
        change("c", 3, id=2, name="Bob", credit="3.001", changed_at=None),
        change("c", 4, id=3, name="Eve", credit="3.00", changed_at=None),
        change("d", 5, id=3),
    ]
    project.write(files | {"landing/customers/0.json": "\n".join(events)})
    project.dbt("run", "-s", "customers_events", "customers")
    found = project.read(
        "select id, coalesce(name, '-'), coalesce(cast(credit as varchar), '-'),"
        " coalesce(strftime(changed_at, '%Y-%m-%d'), '-'), _unavailable is null, _deleted"
        " from {s}.customers order by id"
    )
    assert list(found.itertuples(index=False, name=None)) == [
        (1, "old", "2.50", "2025-01-02", True, False),
        (3, "-", "-", "-", True, True),
    ]
    assert list(project.read("select reason from {s}.customers__rejected")["reason"]) == [
        "wrong_type: credit"
    ]
    project.remove(*files)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("list",), "orders_events"),
        (("compile", "--select", "orders"), "Compiled node 'orders' is:"),
        (("show", "--select", "orders", "--limit", "1"), "Previewing node 'orders'"),
        (("seed", "--show"), "Random sample of table: "),
        (("build", "--empty"), "PASS=5"),
        # dbt repeats no `build --sample`, and no `docs generate`.
        (("retry",), "Nothing to do"),
        (("build", "--sample", "1 day", "--exclude-resource-type", "unit_test"), "PASS=3"),
        (("source", "freshness"), "PASS freshness of landing.orders"),
        (("docs", "generate"), "Catalog written to "),
        pytest.param(
            ("clone", "--state", "before", "--target", "other"), "PASS=3", marks=pytest.mark.slow
        ),
    ],
)
def test_each_command(built: Project, command: tuple[str, ...], said: str) -> None:
    project = built
    before = orders(project)
    if "clone" in command:
        project.write({"before/manifest.json": (project.root / "target/manifest.json").read_text()})
    project.dbt(*command)
    assert project.said(said)
    assert not project.said("hook")
    pd.testing.assert_frame_equal(orders(project), before)


# Of a file with wrong values, and of one that came behind it, with what is older than its row.
BAD = {"id": 1, "version": 9_000_000, "created_at": "2024-02-02T01:00:00Z", "total": "-1.00"}
LATER = BAD | {"id": 100, "total": "5.00"}
LATE = {"id": 2, "version": -1, "created_at": "2024-03-03T02:00:00Z", "total": "0.00"}


def steps() -> list[list[str]]:
    """The commands of docs/undo.md, as the page has them."""
    page = (REPO / "docs/undo.md").read_text()
    found = [shlex.split(step)[1:] for step in re.findall(r"```bash\n\s*(.*?)\n", page)]
    assert [step[0] for step in found] == ["show", "run-operation", "run-operation", "build"]
    return found


def bad_batch(project: Project) -> int:
    events = project.read("select _batch_id, _source_partition from {s}.orders_events")
    return int(events[events["_source_partition"] == "bad.json"]["_batch_id"].item())


def backfill(project: Project, first: int) -> None:
    given = f"{{alluvium_backfill: {{orders: {{from_batch: {first}}}}}}}"
    project.dbt("run", "-s", "orders", "--vars", given)


def operate(project: Project, operation: str, args: str) -> bool:
    """Whether it went well."""
    return project.try_dbt("run-operation", f"alluvium.{operation}", "--args", args).success


def test_a_bad_batch_is_seen(project: Project) -> None:
    for name, *events in ("bad", BAD), ("later", LATER, LATE):
        land(project, name, events)
        project.dbt("run", "-s", "orders_events", "orders")
    assert_newest(project)
    batch = bad_batch(project)
    assert operate(project, "diff", f"{{model: orders, from: {{batch: {batch - 1}}}}}")
    for line in (
        "orders: 1 added, 0 removed, 1 changed; ",
        "  rows changed by column: total 1, version 1",
        "  + id: 1, version: 9000000, total: -1.00",
        "  + id: 100, version: 9000000, created_at: 2024-02-02 01:00:00, total: 5.00",
    ):
        assert project.said(line), project.lines
    project.dbt(*steps()[0])
    project.dbt(*(word.replace("<batch>", str(batch)) for word in steps()[1]))
    (undone,) = project.said(f"undoes batch {batch} (version ")
    assert "reads its events again" not in undone
    assert project.said(f"batch {batch} would be left out for good")
    assert len(orders(project, "id = 100")) == 1


def test_a_bad_batch_is_undone(project: Project) -> None:
    """After the one before: the bad batch and a later one are merged."""
    batch = bad_batch(project)
    undo = [word.replace("<batch>", str(batch)) for word in steps()[2]]
    # Somebody wrote meanwhile, and a backfill ran: both have to be named.
    project.session.sql(f"delete from {project.schema}.orders where id = 2")
    backfill(project, 0)
    assert not project.try_dbt(*undo).success
    assert project.said("Accepted: including: [backfill, write], or another version")
    assert len(orders(project, "id = 100")) == 1
    project.dbt(*(word.replace("skip", "including: [write, backfill], skip") for word in undo))
    assert_newest(project, without=("bad", "later"))
    assert not operate(project, "restore", "{model: orders_events, version: 0}")
    assert project.said("orders_events is a streaming table. Its checkpoint does not go back")


def test_what_is_left_out_stays_out(project: Project) -> None:
    """After the one before: the bad batch is undone, and its events are left out for good."""
    good, batch = orders(project), bad_batch(project)
    right = BAD | {"total": "1.00", "version": 8_999_999}
    land(project, "mended", [right])
    project.dbt(
        *steps()[3], "-s", "orders_events", "orders", "--exclude-resource-type", "unit_test"
    )
    mended = {1: "1.00", 100: "5.00"}

    def found() -> dict[int, str]:
        rows = orders(project, "id in (1, 100)")[["id", "total"]].astype({"total": str})
        return dict(rows.itertuples(index=False))

    def others() -> pd.DataFrame:
        return orders(project, "id not in (1, 100)")

    good = good[good["id"] != 1].reset_index(drop=True)
    assert found() == mended
    pd.testing.assert_frame_equal(others(), good)
    # Of a backfill too.
    backfill(project, 0)
    assert found() == mended
    pd.testing.assert_frame_equal(others(), good)
    assert operate(project, "commits", "{model: orders}")
    assert project.said(f"leaves out batch {batch} of orders")
    assert operate(project, "restore", f"{{model: orders, batch: {batch}, skip: false}}")
    assert project.said(f"batch {batch} no longer stays out")
    only = f"from_batch: {batch}, through_batch: {batch}"
    assert project.said(f"dbt build --vars '{{alluvium_backfill: {{orders: {{{only}}}}}}}'")
    backfill(project, batch)
    assert found() == {**mended, 1: "-1.00"}
    # One file of it.
    args = f"{{model: orders, batch: {batch}, skip: true, files: [%s]}}"
    assert not operate(project, "restore", args % "bad.json, worse.json")
    assert project.said(f"has events of worse.json with `_batch_id` = {batch}. Accepted: names as")
    assert operate(project, "restore", args % "bad.json")
    assert project.said(f"bad.json of batch {batch} is left out for good")
    # And of a full refresh.
    project.dbt("run", "-s", "orders", "--full-refresh")
    assert found() == mended
    pd.testing.assert_frame_equal(others(), good)
    # One merge brings all batches: it is undone for one of them.
    project.session.sql(f"drop table {project.schema}.orders")
    project.dbt("run", "-s", "orders")
    args = f"{{model: orders, before_batch: {batch}, skip: true, dry_run: true}}"
    assert operate(project, "restore", args)
    assert project.said(f"batch {batch} would be left out for good")


@pytest.mark.slow
def test_a_branch_of_a_feed(built: Project) -> None:
    """Its merges go on behind what the table had read; what it reads itself is the target's."""
    project = built

    def run(operation: str, args: str) -> None:
        project.dbt("run-operation", f"alluvium.{operation}", "--args", args)

    args = "{name: fix, models: orders_events}"
    assert not project.try_dbt("run-operation", "alluvium.branch", "--args", args).success
    assert project.said("orders_events is materialized as streaming_table: what it has read is")
    run("branch", "{name: fix, models: orders}")
    before = project.sql("select * from {s}.orders order by id")
    event = {"id": 200, "version": 1, "created_at": "2024-02-02T01:00:00Z", "total": "2.00"}
    project.write({"landing/orders/branch.json": json.dumps(event) + "\n"})
    project.dbt("run", "-s", "orders_events")
    state = (project.root / "target/manifest.json").read_text()
    project.write({"state/manifest.json": state})
    defer = ("--target", "fix", "--defer", "--state", "state")
    project.dbt("run", "-s", "orders", *defer)
    assert project.figures("orders")["events"] == 1
    new = "select cast(total as string) t from {s}.orders where id = 200"
    fix = project.sql(new.replace("{s}", "{s}__fix"))
    assert list(fix["t"]) == ["2.00"]
    pd.testing.assert_frame_equal(project.sql("select * from {s}.orders order by id"), before)
    run("merge_branch", "{name: fix, models: orders}")
    assert project.said(
        "orders: took over 1 row of fix (1 added, 0 changed, 0 removed); orders has"
    )
    assert list(project.sql(new)["t"]) == ["2.00"]
    # Progress does not come along: the event is read once more, and changes nothing.
    project.dbt("run", "-s", "orders")
    assert project.figures("orders")["events"] == 1
    assert list(project.sql(new)["t"]) == ["2.00"]
    # Both change one row, and not alike.
    for schema, total in ((f"{project.schema}__fix", 3), (project.schema, 4)):
        project.session.sql(f"update {schema}.orders set total = {total} where id = 200")
    args = "{name: fix, models: orders}"
    assert not project.try_dbt("run-operation", "alluvium.merge_branch", "--args", args).success
    assert project.said("Accepted: prefer: branch, which takes the rows of fix, or prefer: table")
    args = "{name: fix, models: orders, prefer: ours}"
    assert not project.try_dbt("run-operation", "alluvium.merge_branch", "--args", args).success
    assert project.said('prefer is "ours"; accepted: branch, table')
    run("diff", "{model: orders, to: {branch: fix}}")
    assert project.said("orders: 0 added, 0 removed, 1 changed")
    assert project.said("  + id: 200, total: 3.00")
    args = "{model: orders, to: {branch: fix, version: 1}}"
    assert not project.try_dbt("run-operation", "alluvium.diff", "--args", args).success
    assert project.said("branch and version are given; accepted: one of them")
    assert not project.try_dbt(
        "run-operation", "alluvium.diff", "--args", "{model: orders}"
    ).success
    assert project.said("alluvium.diff: from is missing; accepted: a version")
    run("merge_branch", "{name: fix, models: orders, prefer: branch, dry_run: true}")
    assert project.said(
        "would take over 1 row of fix (0 added, 1 changed, 0 removed); 1 row changed"
    )
    assert list(project.sql(new)["t"]) == ["4.00"]
    run("merge_branch", "{name: fix, models: orders, prefer: branch}")
    assert project.said(
        "not alike: those of fix were taken; orders has changed since fix was merged"
    )
    assert list(project.sql(new)["t"]) == ["3.00"]
    run("discard", "{name: fix, dry_run: false}")
    assert not project.session.catalog.databaseExists(f"{project.schema}__fix")
