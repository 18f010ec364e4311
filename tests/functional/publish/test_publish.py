"""Write, audit, publish: what readers see is a version that passed its tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from functional import delta_rs
from functional.runner import Project, add_macros

from alluvium.delta.rewrite.table_files import TableFiles

pytestmark = pytest.mark.spark

SCHEMA = "publishing"
EVENTS = "select * from values {} as e(id, name, lsn, op)"
FIRST = EVENTS.format("(1, 'ant', 1, 'c'), (2, 'bee', 2, 'c'), (3, 'cow', 3, 'c')")
MODELS = {
    "models/animals_wap.sql": """
        {{ config(materialized='incremental', unique_key='id',
                  meta={'alluvium_merge': {'order_by': 'lsn', 'delete_when': "op = 'd'"}}) }}
        {{ var('events') }}
    """,
    "models/animals.sql": """
        {{ config(materialized='published') }}
        select * from {{ ref('animals_wap') }}
    """,
    "models/names.sql": """
        {{ config(materialized='view') }} select name from {{ ref('animals') }}
    """,
    "models/schema.yml": """
version: 2
models:
  - name: animals_wap
    columns:
      - name: id
        data_tests: [unique]
""",
    "tests/no_wolves.sql": "select * from {{ ref('animals_wap') }} where name = 'wolf'",
}


@pytest.fixture(scope="module")
def project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("publish"), home, SCHEMA)
    target = {"type": "alluvium", "schema": SCHEMA, "home": str(home), "threads": 2}
    outputs = {
        "t": target,
        "dev": {**target, "schema": f"{SCHEMA}_dev"},
        "fix": {**target, "schema": f"{SCHEMA}__fix"},
    }
    project.write(
        {
            "dbt_project.yml": yaml.safe_dump(
                {
                    "name": SCHEMA,
                    "profile": "p",
                    "flags": {"send_anonymous_usage_stats": False},
                    "vars": {"events": FIRST},
                }
            ),
            "profiles.yml": yaml.safe_dump({"p": {"target": "t", "outputs": outputs}}),
            **MODELS,
        }
    )
    add_macros(project.root)
    return project


# The audit, and what shows the candidate: a build that leaves the candidate as it is.
TESTS = ("no_wolves", "unique_animals_wap_id")
SHOW = ("build", "-s", "animals", *TESTS)


def events(*rows: str) -> list[str]:
    return ["--vars", json.dumps({"events": EVENTS.format(", ".join(rows))})]


def candidate(project: Project) -> DeltaTable:
    """For changes that no dbt run makes: by delta-rs, a fiftieth of the time of Spark's."""
    return DeltaTable(delta_rs.folder_of(project.home, SCHEMA, "animals_wap"))


def arrive(project: Project, *rows: tuple[int, str], deleted: bool = False) -> None:
    """New rows of the candidate, in one commit."""
    found = candidate(project)
    made = [{"id": id, "name": name, "lsn": 0, "_deleted": deleted} for id, name in rows]
    columns = pa.schema(found.schema())
    write_deltalake(found, pa.Table.from_pylist(made, columns), mode="append")


def change(project: Project, id: int, name: str, deletes: int) -> None:
    """As a batch changes a row and deletes another, in one commit."""
    values = {"name": f"case when id = {id} then '{name}' else name end"}
    values["_deleted"] = f"id = {deletes}"
    candidate(project).update(values, predicate=f"id in ({id}, {deletes})")


DESCRIBED = """
models:
  - name: animals
    description: It's what readers see
    config: {persist_docs: {relation: true, columns: true}}
    columns: [{name: name, description: a \\ name}]
"""


def docs(project: Project) -> tuple[str | None, str | None]:
    """What the published table says of itself, and of a column."""
    table = DeltaTable(delta_rs.folder_of(project.home, SCHEMA, "animals"))
    (name,) = (field for field in table.schema().fields if field.name == "name")
    return table.metadata().description, name.metadata.get("comment")


def seen(project: Project) -> dict[int, str]:
    """What readers see."""
    rows = project.read("select id, name from {s}.animals order by id")
    return dict(zip(rows["id"], rows["name"], strict=True))


def seen_by_each(project: Project) -> dict[int, str]:
    """By Spark and by delta-rs, which must agree."""
    rows = project.sql("select id, name from {s}.animals order by id")
    other = project.read("select id, name from {s}.animals order by id")
    pd.testing.assert_frame_equal(rows, other, check_dtype=False)
    return seen(project)


def test_before_the_first_publish(project: Project) -> None:
    """There is nothing to show, and what is there under the name is not dropped."""
    assert not project.try_dbt("run", "-s", "animals_wap", "animals").success
    assert project.said("animals: nothing is published yet, and `dbt run` publishes nothing")
    assert project.said("accepted: `dbt build -s animals_wap animals`, or meta.alluvium_publish: ")
    project.session.sql(f"create view {SCHEMA}.animals as select 1 as id, 'mine' as name")
    assert not project.try_dbt("build", "-s", "animals").success
    assert project.said(f"{SCHEMA}.animals is there as a view. Nothing was changed")
    assert project.sql("select name from {s}.animals")["name"].tolist() == ["mine"]
    project.session.sql(f"drop view {SCHEMA}.animals")
    # Where its config asks for it, an empty table; or an error of each run that publishes nothing.
    asked = MODELS["models/animals.sql"].replace(
        "'published'", "'published', meta={'alluvium_publish': {%s}}"
    )
    project.write({"models/animals.sql": asked % "'before_first': 'empty'"})
    project.dbt("run", "-s", "animals")
    assert project.said("animals: is empty: `dbt run` publishes nothing")
    assert project.read("select id, name from {s}.animals").empty
    project.write({"models/animals.sql": asked % "'before_first': 'empty', 'require': true"})
    assert not project.try_dbt("run", "-s", "animals").success
    assert project.said("and meta.alluvium_publish says require: true; accepted: `dbt build -s ")
    project.write({"models/animals.sql": MODELS["models/animals.sql"]})

    # Tests of a candidate that a build does not touch audit it all the same, and where they keep
    # what fails them: then one statement reads the candidate, and another one answers.
    project.dbt(*SHOW, "--store-failures")
    assert project.said("animals: 2 tests passed → version")
    assert seen(project) == {1: "ant", 2: "bee", 3: "cow"}
    assert project.figures("animals")["tests"] == 2


@pytest.mark.proves("publish", on="embedded")
def test_what_passes_its_audit_is_seen(project: Project) -> None:
    """After the one before: three rows are shown."""
    # A batch that changes, deletes and adds; readers see no tombstone, in any engine.
    batch = events("(1, 'ape', 4, 'u')", "(2, 'bee', 5, 'd')", "(4, 'dog', 6, 'c')")
    project.dbt("build", "-s", "animals_wap", "animals", *batch)
    assert project.said("animals: 2 tests passed → version")
    shown = {1: "ape", 3: "cow", 4: "dog"}
    assert seen_by_each(project) == shown
    head = project.figures("animals")["published"]

    # What fails its audit is not seen, and what is downstream is skipped. A row of it is good, and
    # one is deleted.
    change(project, 3, "wolf", deletes=4)
    arrive(project, (5, "eel"))
    failed = project.try_dbt(*SHOW, "names")
    assert not failed.success
    status = {one.node.name: str(one.status) for one in failed.result}
    assert (status["no_wolves"], status["animals"], status["names"]) == (
        "fail",
        "skipped",
        "skipped",
    )
    assert seen(project) == shown
    # A retry counts what passed before only for the version that it passed for.
    candidate(project).update({"name": "'cat'"}, predicate="name = 'wolf'")
    project.dbt("retry")
    assert project.said("1 of 2 tests did not run (unique_animals_wap_id)")
    assert seen(project) == shown

    # Nor is what was not tested, however it is asked for; nor what is said of it.
    said = docs(project)
    project.write({"models/described.yml": DESCRIBED})
    project.dbt("build", "-s", "animals")
    (line,) = project.said("animals: still shows version")
    not_run = f"version {head:,} of animals_wap: 2 of 2 tests did not run (no_wolves, "
    assert not_run in line
    project.dbt("run", "-s", "animals")
    assert project.said("`dbt run` publishes nothing, `dbt build` does")
    project.dbt(*SHOW, "--exclude", "no_wolves")
    assert project.said("1 of 2 tests did not run (no_wolves)")
    assert (seen(project), docs(project)) == (shown, said)

    # The next good version publishes all of it: here that of the second retry, whose other test
    # passed two commands before for this very version.
    arrive(project, (22, "wolf"))
    assert not project.try_dbt(*SHOW).success
    wrong = MODELS["tests/no_wolves.sql"].replace("name", "nome")
    project.write({"tests/no_wolves.sql": wrong})
    assert not project.try_dbt("retry").success
    project.write(
        {
            "tests/no_wolves.sql": "{{ config(store_failures_as='view') }}"
            " select * from {{ ref('animals_wap') }} where name = 'x'"
        }
    )
    project.dbt("retry")
    assert project.said("animals: 2 tests passed → version")
    assert seen_by_each(project) == {1: "ape", 3: "cat", 5: "eel", 22: "wolf"}
    assert docs(project) == ("It's what readers see", "a \\ name")


def test_what_is_no_other_version_for_readers(project: Project) -> None:
    """After the one before: four rows are shown, `no_wolves` looks for others."""
    # Where nothing differs for readers there is no commit.
    arrive(project, (20, "gone"), deleted=True)
    before, shown = project.versions("animals"), seen(project)
    project.dbt(*SHOW)
    assert project.said("2 tests passed → version")
    assert (project.versions("animals"), seen(project)) == (before, shown)
    # A full refresh of the candidate is another table, under the same name of the published one.
    again = events("(7, 'fox', 1, 'c')", "(8, 'gnu', 2, 'c')")
    project.dbt("build", "-s", "animals_wap", "animals", "--full-refresh", *again)
    assert seen_by_each(project) == {7: "fox", 8: "gnu"}
    # What dbt samples or leaves empty is not published.
    arrive(project, (1, "ape"), (2, "bee"))
    project.dbt(*SHOW, "--empty")
    assert project.said("--empty publishes nothing")
    assert seen(project) == {7: "fox", 8: "gnu"}


def operate(project: Project, operation: str, **args: object) -> bool:
    """Whether an operation on the published model went well."""
    given = json.dumps({"model": "animals", **args})
    return project.try_dbt("run-operation", f"alluvium.{operation}", "--args", given).success


@pytest.mark.proves("checkout", on="embedded")
def test_head_goes_to_any_version(project: Project) -> None:
    """`checkout` moves what readers see back, and holds it there until it is let go.

    After the one before: two rows are shown, and the candidate has four.
    """
    # What came since is one version.
    first, old = project.versions("animals_wap") - 2, seen(project)
    change(project, 1, "ant", deletes=2)
    arrive(project, (3, "cow"))
    project.dbt(*SHOW)
    second = project.figures("animals")["published"]
    new = {1: "ant", 3: "cow", 7: "fox", 8: "gnu"}
    assert seen(project) == new

    assert operate(project, "checkout", version=first, dry_run=True)
    assert project.said(f"animals: would show version {first} of animals_wap, ")
    assert seen(project) == new
    assert operate(project, "checkout", version=first)
    assert project.said("builds leave it there until a checkout with hold: false")
    assert seen_by_each(project) == old
    arrive(project, (5, "eel"))
    project.dbt(*SHOW)
    assert project.said(f"is not published, for a checkout holds version {first}")
    assert seen(project) == old
    # Let go, the next build moves it on.
    assert operate(project, "checkout", version=second, hold=False)
    assert seen(project) == new
    project.dbt(*SHOW)
    assert seen(project) == {**new, 5: "eel"}
    # What is not there.
    assert not operate(project, "checkout", version=999)
    assert project.said("has no version 999; accepted: a version up to")
    assert not operate(project, "checkout", version="one")
    assert project.said('version is "one"; accepted: a version of the candidate, a whole number')


def test_by_hand_and_back(project: Project) -> None:
    """After the one before: without its tests the newest version; nothing is held any longer."""
    new, good = seen(project), project.versions("animals_wap") - 1
    assert operate(project, "checkout", version=good - 2)
    old = {1: "ant", 7: "fox", 8: "gnu"}
    assert seen(project) == old
    candidate(project).update({"name": "'wolf'"}, predicate="id = 1")
    assert not operate(project, "publish")
    assert project.said("accepted: untested: true, or `dbt build -s +animals`")
    assert operate(project, "publish", untested=True, dry_run=True)
    (line,) = project.said("animals: not audited → version")
    assert "would be published, " in line
    assert line.endswith("; what a checkout held is let go (dry run)")
    assert seen(project) == old
    assert operate(project, "publish", untested=True)
    (line,) = project.said("animals: not audited → version")
    assert line.endswith("; what a checkout held is let go")
    assert seen(project) == {**new, 1: "wolf"}

    # Nothing would bring again what somebody wrote.
    restore = ["run-operation", "alluvium.restore", "--args"]
    assert not project.try_dbt(*restore, f"{{model: animals, version: {good}}}").success
    assert project.said("Accepted: including: [write], or another version")
    project.dbt(*restore, f"{{model: animals, version: {good}, including: [write]}}")
    assert project.said("  animals: shows that too")
    assert seen_by_each(project) == new


BOTH = "{name: fix, models: [animals_wap, animals], dry_run: %s}"


def refused(project: Project, operation: str, args: str, said: str) -> None:
    assert not project.try_dbt("run-operation", f"alluvium.{operation}", "--args", args).success
    assert project.said(said)


def test_what_is_no_branch(project: Project) -> None:
    """After the others, as all that follow: the candidate has rows."""
    run(project, "branch", BOTH % "true")
    assert len(project.said("would show version")) == 2
    for operation, args, said in (
        ("branch", "{name: Fix, models: animals_wap}", "name is 'Fix'; accepted: lower-case"),
        ("branch", "{name: fix, models: names}", "names is materialized as view: a build on the"),
        ("branch", "{name: fix, models: animals}", "models: [animals_wap, animals]"),
        ("discard", "{name: fix}", f"there is no branch fix of {SCHEMA}; accepted: the name"),
    ):
        refused(project, operation, args, said)
    # A dry run asks what the branch itself would.
    dry = "{name: fix, models: animals_wap, dry_run: true}"
    in_the_way = delta_rs.folder_of(project.home, f"{SCHEMA}__fix", "animals_wap") / "x"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    refused(project, "branch", dry, f"{in_the_way.parent} is not empty, and the branch fix did not")
    shutil.rmtree(in_the_way.parents[1])
    project.session.sql(f"create schema {SCHEMA}__fix")
    refused(project, "branch", dry, f"{SCHEMA}__fix is there, and the branch fix did not make it")
    project.session.sql(f"drop schema {SCHEMA}__fix")
    # Where the project's own rule names a schema, the target's table may lie in the very same one.
    own = "{% macro generate_schema_name(custom_schema_name, node) -%}" + (
        f"{{%- if node.name == 'shared' -%}}{SCHEMA}_shared{{%- else -%}}"
        "{{ default__generate_schema_name(custom_schema_name, node) }}{%- endif -%}"
        "{%- endmacro %}"
    )
    more = {
        "models/shared.sql": "{{ config(materialized='table') }} select 1 as id",
        "macros/generate_schema_name.sql": own,
    }
    project.write(more)
    shared = f"shared: its schema is {SCHEMA}_shared, so a"
    refused(project, "branch", "{name: fix, models: shared}", shared)
    project.remove(*more)
    assert not project.session.catalog.databaseExists(f"{SCHEMA}__fix")


@pytest.mark.proves("branch", on="embedded")
def test_a_branch(project: Project) -> None:
    """Builds go on beside the tables; what changed there is merged into them, or discarded."""
    before = seen(project)
    aside = "models/aside.sql"
    project.write({aside: "{{ config(materialized='table', schema='aside') }} select 1 as id"})
    run(project, "branch", BOTH % "false")
    assert project.said(f"a target with `schema: {SCHEMA}__fix` builds on it")

    project.session.sql(f"create schema {SCHEMA}__fix_other")
    on_it = ["-s", "animals_wap", "animals", "aside", "--target", "fix"]
    project.dbt("build", *on_it, *events("(3, 'bat', 11, 'u')", "(4, 'dog', 12, 'c')"))
    assert project.said("animals: 2 tests passed → version")
    shown = project.read("select id, name from {s}__fix.animals")
    on_branch = dict(zip(shown["id"], shown["name"], strict=True))
    assert on_branch == {**before, 3: "bat", 4: "dog"}
    assert seen(project) == before
    project.session.sql(f"delete from {SCHEMA}__fix.animals_wap where id = 8")
    merge = "{name: fix, models: animals_wap, dry_run: %s}"
    took = "{} 3 rows of fix (1 added, 1 changed, 1 removed); animals_wap has {} since fix began"
    version = project.versions("animals_wap")
    run(project, "merge_branch", merge % "true")
    assert project.said(took.format("would take over", "not changed"))
    assert project.versions("animals_wap") == version
    arrive(project, (10, "elk"))
    run(project, "merge_branch", merge % "false")
    assert project.said(took.format("took over", "changed"))
    live = project.read("select id, name from {s}.animals_wap where not coalesce(_deleted, false)")
    after = {**on_branch, 10: "elk"}
    del after[8]
    assert dict(zip(live["id"], live["name"], strict=True)) == after
    # Readers see it when a build has tested it.
    assert seen(project) == before
    published = "animals is published, and holds no rows"
    refused(project, "merge_branch", "{name: fix, models: animals}", published)
    # Of schemas that are not there when the branch begins, those that its builds make go with it.
    run(project, "discard", "{name: fix}")
    assert project.session.catalog.databaseExists(f"{SCHEMA}__fix")
    run(project, "discard", "{name: fix, dry_run: false}")
    assert project.said(f"`{SCHEMA}__fix_aside`.`aside`: dropped")
    assert project.said(f"{SCHEMA}__fix_other: stays, for it is not known")
    left = project.session.sql(f"show schemas like '{SCHEMA}__fix*'").collect()
    assert [row[0] for row in left] == [f"{SCHEMA}__fix_other"]
    project.session.sql(f"drop schema {SCHEMA}__fix_other")
    project.remove(aside)
    # The next build shows what was merged and came since.
    project.dbt(*SHOW)
    assert seen_by_each(project) == after


@pytest.mark.slow
@pytest.mark.proves("dbt clone", on="embedded")
def test_another_target(project: Project) -> None:
    """It takes over what is shown elsewhere where it shows nothing, and moves it only if it may."""
    meta = "{'alluvium_publish': {'targets': 't', 'retention': '40 days'}}"
    project.write(
        {
            "models/animals.sql": "{{ config(materialized='published', meta=" + meta + ") }}"
            " select * from {{ ref('animals_wap') }}"
        }
    )
    project.dbt("parse")
    state = project.root / "state"
    state.mkdir()
    shutil.copy(project.root / "target/manifest.json", state)
    dev = ["--target", "dev", "--defer", "--state", str(state)]
    project.dbt("build", "-s", "animals", *dev)
    (line,) = project.said("--defer reads")
    assert f"of {SCHEMA}.animals_wap, as {SCHEMA}.animals does; --defer reads" in line
    shown = project.sql("select id, name from {s}_dev.animals order by id")
    assert dict(zip(shown["id"], shown["name"], strict=True)) == seen(project)
    kept_for = project.sql("show tblproperties {s}_dev.animals")
    kept = dict(zip(kept_for["key"], kept_for["value"], strict=True))
    assert kept["delta.logRetentionDuration"] == "interval 40 days"
    assert kept["delta.deletedFileRetentionDuration"] == "interval 40 days"
    project.dbt("build", "-s", "animals", *dev)
    (line,) = project.said("animals: still shows version")
    assert f"--defer reads {SCHEMA}.animals_wap, a table of another target" in line
    # A candidate of its own, that passes its tests.
    project.dbt("build", "-s", "animals_wap+", "--target", "dev", *events("(9, 'hen', 1, 'c')"))
    (line,) = project.said("animals: still shows version")
    assert "target dev publishes nothing, meta.alluvium_publish has targets: t" in line
    assert len(project.sql("select * from {s}_dev.animals")) == len(shown)
    args = ["--target", "dev", "--args", "{model: animals, untested: true}"]
    assert not project.try_dbt("run-operation", "alluvium.publish", *args).success
    assert project.said("alluvium.publish: animals: target dev publishes nothing")
    # What `dbt clone` makes of both shows what was shown, and builds move it on.
    project.write({"models/animals.sql": MODELS["models/animals.sql"]})
    clone = ["--target", "fix", "--state", str(state)]
    project.dbt("clone", "-s", "animals_wap", "animals", *clone)
    project.dbt("build", "-s", "animals_wap+", "--target", "fix", *events("(9, 'hen', 99, 'c')"))
    assert project.said("animals: 2 tests passed → version")
    found = project.sql("select id, name from {s}__fix.animals")
    assert dict(zip(found["id"], found["name"], strict=True)) == {**seen(project), 9: "hen"}
    project.session.sql(f"drop schema {SCHEMA}__fix cascade")


KINDS = {
    "models/plain_wap.sql": """
        {{ config(materialized='table', tblproperties={
            'delta.enableDeletionVectors': 'true',
            'delta.deletedFileRetentionDuration': 'interval 0 hours'}) }}
        select * from values (1, 'ant'), (2, 'bee'), (3, 'cow') as e(id, name)
    """,
    "models/python_wap.py": """
def model(dbt, session):
    dbt.config(materialized="table")
    return session.createDataFrame([(1, "ant")], "id int, name string")
""",
    "snapshots/history_wap.yml": """
snapshots:
  - name: history_wap
    relation: ref('plain_wap')
    config: {unique_key: id, strategy: check, check_cols: [name]}
""",
    **{
        f"models/{name}.sql": f"""
            {{{{ config(materialized='published', alias='{name}_shown',
                        meta={{'alluvium_publish': {{'audit': 'none'}}}}) }}}}
            select * from {{{{ ref('{candidate}') }}}}
        """
        for name, candidate in {
            "plain": "plain_wap",
            "plain_again": "plain_wap",
            "python": "python_wap",
            "history": "history_wap",
        }.items()
    },
}


def there(file: str) -> bool:
    return Path(unquote(urlparse(file).path)).exists()


@pytest.mark.slow
def test_each_kind_of_candidate(project: Project) -> None:
    project.write(KINDS)
    shown = ["plain", "plain_again", "python", "history"]
    project.dbt("build", "-s", *(f"+{name}" for name in shown))
    assert len(project.said("not audited → version")) == 4

    def rows(name: str) -> list[int]:
        found = project.sql(f"select id from {{s}}.`{name}_shown` order by id")
        return list(found["id"])

    assert [rows(name) for name in shown] == [[1, 2, 3], [1, 2, 3], [1], [1, 2, 3]]

    kept_for = project.sql("show tblproperties {s}.python_wap ('delta.logRetentionDuration')")
    assert kept_for["value"].tolist() == ["interval 30 days"]

    # A version of a table with tombstones, and one that is not there.
    inline = "select id, name from {{ alluvium.at(ref('animals_wap'), version=%d) }}"
    done = project.sql("describe history {s}.animals_wap")
    first = int(done["version"][done["operation"] == "MERGE"].min())
    project.dbt("show", "--output", "json", "--inline", inline % first)
    assert project.said('"name": "ape"')
    assert not project.said('"name": "bee"')
    failed = project.try_dbt("show", "--inline", inline % 999)
    assert "animals_wap has no version 999; accepted: 0 to " in str(failed.exception)

    # `vacuum` leaves what a published table shows, though its candidate has other files now.
    table = f"{SCHEMA}.plain_wap"
    kept = set(project.session.table(f"{SCHEMA}.`plain_shown`").inputFiles())
    project.session.sql(f"insert into {table} values (4, 'dog')")
    unused = set(project.session.table(table).inputFiles()) - kept
    for statement in ("delete from {} where id = 1", "optimize {}"):
        project.session.sql(statement.format(table))
    assert not kept & set(project.session.table(table).inputFiles())
    project.dbt("run-operation", "alluvium.vacuum", "--args", "{model: plain_wap, dry_run: false}")
    assert [rows("plain"), rows("plain_again")] == [[1, 2, 3], [1, 2, 3]]
    assert [file for file in kept if not there(file)] == []
    assert [file for file in unused if there(file)] == []

    # A published table has deletion vectors, as files: Delta's VACUUM can read those alone.
    shown, folder = seen(project), delta_rs.folder_of(project.home, SCHEMA, "animals")
    vectors = [*folder.rglob("deletion_vector_*.bin")]
    for dry_run in ("true", "false"):
        given = f"{{model: animals, dry_run: {dry_run}}}"
        project.dbt("run-operation", "alluvium.vacuum", "--args", given)
    assert vectors
    assert seen_by_each(project) == shown

    # Only the candidate is compacted.
    with pytest.raises(ValueError, match="the table is published"):
        TableFiles(project.session, f"{SCHEMA}.`plain_shown`").check_rewritable()


DAYS = ("--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04")
DAILY = {
    "models/hits.sql": """
        {{ config(materialized='table', event_time='at') }}
        select id, timestamp(at) as at from values
            (1, '2026-01-01 05:00'), (2, '2026-01-02 05:00'), (3, '2026-01-03 05:00')
            {{ var('hits', '') }} as e(id, at)
    """,
    "models/daily_wap.sql": """
        {{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
                  batch_size='day', begin='2026-01-01', concurrent_batches=true) }}
        select * from {{ ref('hits') }}
    """,
    "models/daily.sql": """
        {{ config(materialized='published') }}
        select * from {{ ref('daily_wap') }}
    """,
    "models/daily.yml": """
models:
  - name: daily_wap
    columns: [{name: id, data_tests: [unique, not_null]}]
""",
}


@pytest.mark.slow
def test_a_candidate_in_batches(project: Project) -> None:
    """A microbatch model makes a commit a batch; its tests see them all."""
    project.write(DAILY)

    def shown() -> list[int]:
        return list(project.sql("select id from {s}.daily order by id")["id"])

    project.dbt("build", "-s", "+daily", *DAYS)
    assert project.said("daily: 2 tests passed → version")
    assert shown() == [1, 2, 3]

    def more(row: str) -> tuple[str, str]:
        return "--vars", json.dumps({"hits": f", {row}"})

    # A test that is not selected did not run, whatever became of the batches.
    four = more("(4, '2026-01-02 06:00')")
    project.dbt("build", "-s", "+daily", "--exclude", "not_null_daily_wap_id", *DAYS, *four)
    assert project.said("not_null_daily_wap_id")
    assert shown() == [1, 2, 3]
    # One of several batches is bad: readers see none of them.
    failed = project.try_dbt("build", "-s", "+daily", *DAYS, *more("(3, '2026-01-01 06:00')"))
    assert not failed.success
    assert len(project.sql("select id from {s}.daily_wap")) == 4
    assert shown() == [1, 2, 3]
    project.dbt("build", "-s", "+daily", *DAYS, *four)
    assert shown() == [1, 2, 3, 4]


@pytest.mark.slow
def test_only_tests_that_ran_count(project: Project) -> None:
    """After the one before. By `empty` dbt selects a test only by its own name."""
    project.write(DAILY)
    whole = ("build", "-s", "+daily", *DAYS)
    project.dbt(*whole, "--indirect-selection", "empty")
    assert project.said("of daily_wap: 2 of 2 tests did not run (not_null_daily_wap_id, ")
    assert list(project.sql("select id from {s}.daily order by id")["id"]) == [1, 2, 3, 4]
    project.dbt(*whole, "--indirect-selection", "cautious")
    assert list(project.sql("select id from {s}.daily order by id")["id"]) == [1, 2, 3]


DAY = "{start: '2026-01-01', end: '2026-01-02'}"
PARTS = {
    "models/visits.sql": """
        {{ config(materialized='view', event_time='at') }}
        select id, timestamp(at) as at from values (1, '2026-01-01'), (2, '2026-01-03') as e(id, at)
    """,
    "models/whole_wap.sql": "{{ config(materialized='table') }} select * from {{ ref('visits') }}",
    "models/grown_wap.sql": """
        {{ config(materialized='incremental') }} select * from {{ ref('visits') }}
        {% if is_incremental() %} where id > (select coalesce(max(id), 0) from {{ this }})
        {% endif %}
    """,
    "models/whole.sql": """
        -- depends_on: {{ ref('visits') }}
        {{ config(materialized='published') }} select * from {{ ref('whole_wap') }}
    """,
    "models/grown.sql": """
        {{ config(materialized='published', meta={'alluvium_publish': {'audit': 'none'}}) }}
        select * from {{ ref('grown_wap') }}
    """,
    # It names the candidate in a list, with its catalog, as a whole, and at an earlier version.
    "tests/in_a_list.sql": """
        select w.id from {{ ref('visits') }} as v, spark_catalog.{{ ref('whole_wap') }} as w
        where w.id = -1 or w.id not in (select id from (table {{ ref('whole_wap') }}))
        union all
        select id from {{ alluvium.at(ref('whole_wap'), version=0) }} as o where id = -1
    """,
}


def test_what_a_flag_left_out_is_not_seen(project: Project) -> None:
    """Nor by a build without the flag that leaves the candidate as it is, nor behind it."""
    project.write(PARTS)
    both, show = ("whole_wap", "grown_wap"), ("build", "-s", "whole", "grown", "in_a_list")
    made = "{} made version {} of {} of a part of its rows"

    def ids(*names: str) -> list[list[int]]:
        found = (project.read(f"select id from {{s}}.{name} order by id") for name in names)
        return [list(one["id"]) for one in found]

    project.dbt("run", "-s", "visits", *both, "--empty")
    assert not project.try_dbt(*show).success
    for name in both:
        assert project.said(f"nothing is published yet, and {made.format('--empty', 0, name)}")
    # A whole build brings the rows of a table that had none.
    project.dbt("build", "-s", *both, "whole", "grown")
    assert ids("whole", "grown") == [[1, 2], [1, 2]]
    assert project.said("whole: 1 test passed → version 2 of whole_wap published")
    # To an incremental model that has rows --empty does nothing.
    project.dbt("run", "-s", *both, "--empty")
    project.dbt(*show)
    (line,) = project.said("whole: still shows version 2 of whole_wap: --empty made version 3 of")
    assert line.endswith("of a part of its rows; accepted: `dbt build -s whole_wap whole`")
    assert project.said("grown: not audited → version 2 of grown_wap published")
    # Behind a sample other rows are missing still.
    project.dbt("run", "-s", *both, "--sample", DAY, "--full-refresh")
    project.dbt("run", "-s", "grown_wap")
    assert ids("whole_wap", "grown_wap", "whole") == [[1], [1, 2], [1, 2]]
    project.dbt(*show)
    assert project.said(
        f"grown: still shows version 2 of grown_wap: {made.format('--sample', 3, 'grown_wap')}"
    )
    assert project.said("; accepted: `dbt build -s grown_wap grown --full-refresh`")
    assert project.said(made.format("--sample", 5, "whole_wap"))
    project.dbt("build", "-s", *both, "whole", "grown", "--full-refresh")
    assert not project.said("still shows")


def run(project: Project, operation: str, args: str) -> None:
    project.dbt("run-operation", f"alluvium.{operation}", "--args", args)


def test_an_audit_counts_tests_that_are_kept(project: Project) -> None:
    """For the version that they were checked against: a compaction holds no publish back."""
    config = (project.root / "dbt_project.yml").read_text()
    wolves = "tests/no_wolves.sql"
    asks = f"{config}data_tests: {{+meta: {{alluvium_reuse: true}}}}"
    project.write({"dbt_project.yml": asks, wolves: MODELS[wolves]})
    # Of the tests before, if those that take it away did not run.
    candidate(project).delete("name = 'wolf'")
    arrive(project, (70, "yak"))
    project.dbt(*SHOW)
    assert seen(project)[70] == "yak"
    version = project.figures("animals")["published"]
    project.session.sql(f"optimize {SCHEMA}.animals_wap")
    project.dbt(*SHOW)
    assert project.said("kept 2 of 2 nodes")
    assert project.said("animals: 2 tests passed")
    assert project.figures("animals")["published"] > version
    arrive(project, (71, "wolf"))
    assert not project.try_dbt(*SHOW).success
    assert project.said("kept 0 of 2 nodes")
    assert 71 not in seen(project)
    candidate(project).delete("id = 71")
    project.write({"dbt_project.yml": config})


@pytest.mark.slow
def test_tags_and_clones(project: Project) -> None:
    """After the others: the candidate `animals_wap` has rows, `plain_wap` is published."""
    table = f"{SCHEMA}.animals_wap"
    some = int(project.sql(f"select max(id) as id from {table}")["id"][0])
    project.session.sql(f"update {table} set _deleted = true where id = {some}")
    everything = project.session.table(table).count()
    live = len(project.sql(f"select id from {table} where not coalesce(_deleted, false)"))
    assert live < everything
    run(project, "tag", "{model: animals_wap, name: accepted, message: as it was, dry_run: true}")
    assert project.said("animals_wap: tag accepted would name version")
    run(project, "tag", "{model: animals_wap, name: accepted, message: as it was}")
    run(project, "clone", f"{{model: animals_wap, to: {SCHEMA}.animals_copy, tag: accepted}}")
    assert project.said(f"clone {SCHEMA}.animals_copy shows what tag accepted names, ")
    assert len(project.sql("select id from {s}.animals_copy")) == everything
    project.session.sql(f"delete from {table}")
    run(project, "commits", "{model: animals_wap}")
    assert project.said("tag accepted")

    # Read at a tag, tombstones are hidden as ever.
    inline = "select count(*) as n from {{ alluvium.at(ref('animals_wap'), %s) }}"
    project.dbt("show", "--output", "json", "--inline", inline % "tag='accepted'")
    assert project.said(f'"n": {live}')
    for asked, said in (
        ("tag='acepted'", "has no tag 'acepted'; accepted: accepted; did you mean accepted?"),
        ("batch=3", "no commit that its log tells brought a batch"),
    ):
        failed = project.try_dbt("show", "--inline", inline % asked)
        assert said in str(failed.exception)
    failed = project.try_dbt(
        "run-operation", "alluvium.tag", "--args", "{model: animals_wap, name: ../x}"
    )
    assert not failed.success
    assert project.said("alluvium.tag: name is '../x'; accepted: letters, digits, ")
    run(project, "untag", "{model: animals_wap, name: accepted}")
    assert project.said("animals_wap: tag accepted, of version")

    # No table goes while others need its files.
    project.remove("models/plain.sql", "models/plain_again.sql")
    project.write({"models/plain_wap.sql": "{{ config(materialized='view') }} select 1 as id"})
    assert not project.try_dbt("run", "-s", "plain_wap").success
    assert project.said(f"its files are needed by published {SCHEMA}.plain_again_shown, ")
    assert len(project.sql("select id from {s}.plain_shown")) == 3
    for name in ("plain_shown", "plain_again_shown"):
        project.session.sql(f"drop table {SCHEMA}.{name}")
    project.dbt("run", "-s", "plain_wap")
    assert project.sql("select id from {s}.plain_wap")["id"].tolist() == [1]
