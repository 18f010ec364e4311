"""Whether a node would read what it read before: each thing that is noted, changed alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from alluvium import marks
from alluvium.plan import reuse
from alluvium.plan.reuse import Record, TableState
from alluvium.plan.versions.commit import Commit

THEN = TableState("id", 3, "commit 3")
RECORD = Record(
    parts={"its SQL": "sql", "a Spark setting": "settings"},
    tables={"`a`.`t`": THEN},
    views={"`a`.`w`": "view", "`a`.`x`": "other"},
    failures=2,
    at="2026-01-01T00:00:00+00:00",
)
VIEWS = dict(RECORD.views)
PARTS = dict(RECORD.parts)


def commit(operation: str, *actions: dict[str, object]) -> Commit:
    return written({"commitInfo": {"operation": operation}}, *actions)


def written(*actions: object) -> Commit:
    return Commit(0, list(map(json.dumps, actions)))


GONE = Commit(0)


def file(kind: str, **action: object) -> dict[str, object]:
    return {kind: {"path": "f", **action}}


KEEPS = commit("OPTIMIZE", file("add", dataChange=False), file("remove", dataChange=False))


def test_a_note_is_read_as_it_was_written():
    text = reuse.text(RECORD, "test.shop.unique_id")
    assert reuse.of_text(text) == RECORD
    assert json.loads(text)["node"] == "test.shop.unique_id"


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "null",
        "[]",
        "{}",
        "no JSON",
        reuse.text(RECORD, "t").replace('"version": 2', '"version": 1', 1),
        reuse.text(RECORD, "t").replace('"parts"', '"pieces"'),
        reuse.text(RECORD, "t").replace('"commit"', '"made"'),
        reuse.text(RECORD, "t")[:-20],
    ],
)
def test_a_note_that_cannot_be_read_is_none(broken):
    assert reuse.of_text(broken) is None


def test_nothing_is_another():
    assert reuse.difference(RECORD, PARTS, VIEWS) is None


@pytest.mark.parametrize(
    ("parts", "views", "said"),
    [
        ({"its SQL": "x"}, {}, "its SQL is another"),
        ({"a Spark setting": "x"}, {}, "a Spark setting is another"),
        # What one side alone knows, as of another version.
        ({"a macro": "x"}, {}, "a macro is another"),
        ({}, {"`a`.`w`": "x"}, "the view `a`.`w` is another"),
        ({}, {"`a`.`x`": None}, "the view `a`.`x` is another"),
    ],
)
def test_what_is_another_is_said(parts, views, said):
    assert reuse.difference(RECORD, PARTS | parts, VIEWS | views) == said


@pytest.mark.parametrize(
    ("parts", "views", "said"),
    [
        ({"its SQL": "sql"}, VIEWS, "a Spark setting is another"),
        (PARTS, {"`a`.`w`": "view"}, "the view `a`.`x` is another"),
    ],
)
def test_what_is_gone_is_another(parts, views, said):
    assert reuse.difference(RECORD, parts, views) == said


@pytest.mark.parametrize(
    ("then", "now", "commit_then", "between"),
    [
        (THEN, THEN, "commit 3", []),
        (THEN, TableState("id", 4, "commit 4"), "commit 3", [KEEPS]),
        (THEN, TableState("id", 5, "commit 5"), "commit 3", [KEEPS, KEEPS]),
    ],
)
def test_a_table_that_did_not_move(then, now, commit_then, between):
    assert reuse.moved("t", then, now, commit_then, between) is None


MOVES = commit("WRITE", file("add", dataChange=True))


@pytest.mark.parametrize(
    ("then", "now", "commit_then", "between", "said"),
    [
        (THEN, replace(THEN, table_id="new"), "commit 3", [], "t was made again"),
        # A copied home has the same ids and numbers.
        (THEN, replace(THEN, commit="x"), "x", [], "t has another history"),
        (THEN, TableState("id", 4, "commit 4"), "x", [KEEPS], "t has another history"),
        # Put back from a backup.
        (THEN, TableState("id", 2, "commit 2"), "", [], "t has another history"),
        (replace(THEN, commit=""), replace(THEN, commit=""), "", [], "t has another history"),
        *(
            (THEN, TableState("id", 5, "c"), "commit 3", some, "t has changed since version 3")
            for some in ([KEEPS, MOVES], [MOVES, KEEPS], [KEEPS, GONE], [KEEPS], [])
        ),
    ],
)
def test_a_table_that_moved(then, now, commit_then, between, said):
    assert reuse.moved("t", then, now, commit_then, between) == said


@pytest.mark.parametrize(
    "actions",
    [
        KEEPS,
        commit("REORG", file("add", dataChange=False)),
        commit("COMPUTE STATS", file("add", dataChange=False)),
        commit("VACUUM START"),
        commit("VACUUM END"),
        commit("Manual Update", {"txn": {"appId": "alluvium.zorder", "version": 1}}),
        commit("OPTIMIZE", file("add", dataChange=False), {"txn": {"appId": "a", "version": 1}}),
    ],
)
def test_commits_that_keep_rows(actions):
    assert reuse.keeps_rows(actions)


@pytest.mark.parametrize(
    "actions",
    [
        GONE,
        # A user's append that claims to change no data, and an ALTER TABLE without files.
        commit("WRITE", file("add", dataChange=False)),
        commit("SET TBLPROPERTIES", {"metaData": {}}),
        commit("OPTIMIZE", file("add", dataChange=False), {"metaData": {}}),
        commit("OPTIMIZE", file("add", dataChange=False), {"protocol": {}}),
        commit("OPTIMIZE", file("add", dataChange=True)),
        commit("OPTIMIZE", file("remove", dataChange=True)),
        commit("OPTIMIZE", file("add")),
        commit("OPTIMIZE", file("cdc", dataChange=False)),
        commit("Manual Update", file("add", dataChange=False)),
        commit("RESTORE", file("add", dataChange=False)),
        commit("CLONE"),
        written(file("add", dataChange=False)),
    ],
)
def test_commits_that_may_not(actions):
    assert not reuse.keeps_rows(actions)


@pytest.mark.parametrize(
    ("actions", "describes"),
    [
        (commit("CHANGE COLUMN", {"metaData": {}}), True),
        (commit("ADD CONSTRAINT", {"metaData": {}}, {"protocol": {}}), True),
        (commit("UPDATE", file("add")), False),
        (commit("DELETE", file("remove")), False),
        (commit("WRITE", {"metaData": {}}, file("cdc")), False),
        (GONE, False),
    ],
)
def test_commits_that_only_describe(actions, describes):
    assert reuse.only_describes(actions) is describes


def noted(of: int, operation: str = "Manual Update", *actions: dict[str, object]) -> Commit:
    """A commit with the note of a version."""
    txn = {"txn": {"appId": marks.REUSE, "version": of}}
    info = {"operation": operation, "userMetadata": reuse.mark(RECORD, "model.shop.t", of)}
    return written({"commitInfo": info}, txn, *actions)


def newest_first(newest: int, commits: list[Commit]) -> list[Commit]:
    return [replace(one, version=newest - place) for place, one in enumerate(commits)]


@pytest.mark.parametrize("behind", [[], [KEEPS], [KEEPS, commit("VACUUM END")]])
def test_the_note_in_a_log(behind):
    newest = 4 + len(behind)
    assert reuse.in_log(newest_first(newest, [*behind, noted(3), MOVES])) == RECORD


@pytest.mark.parametrize(
    ("newest", "commits", "said"),
    [
        # Killed before its note; somebody's CREATE OR REPLACE, rows, comment, RESTORE.
        (5, [MOVES, noted(3)], "nothing is noted of version 5 of its table"),
        (5, [commit("COMMENT", {"metaData": {}}), noted(3)], "nothing is noted of version 5"),
        (6, [KEEPS, MOVES, noted(3)], "nothing is noted of version 5"),
        (5, [commit("RESTORE"), noted(3)], "nothing is noted of version 5"),
        # What the log no longer has, and what is no table.
        (6, [KEEPS, GONE], "nothing is noted of version 5"),
        (-1, [], "nothing is noted in the newest commits of its table"),
        (200, [KEEPS] * 101 + [noted(98)], "nothing is noted in the newest commits of its table"),
        # A note of another version, in a commit of somebody else's, and one that has rows.
        (5, [noted(3)], "what is noted of version 5 of its table cannot be read"),
        (4, [noted(3, "WRITE")], "nothing is noted of version 4"),
        (4, [noted(3, "OPTIMIZE", file("add", dataChange=True))], "nothing is noted of version 4"),
    ],
)
def test_a_log_that_notes_nothing_of_how_it_stands(newest, commits, said):
    found = reuse.in_log(newest_first(newest, commits))
    assert isinstance(found, str)
    assert found.startswith(said)


LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def test_what_is_known_may_be_kept():
    known = [
        f"{LOGICAL}.Project",
        f"{EXPRESSIONS}.CurrentRow$",
        f"{EXPRESSIONS}.aggregate.Count",
        "org.apache.spark.sql.execution.datasources.LogicalRelation",
    ]
    assert reuse.forbidden(known) is None


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([f"{LOGICAL}.Project", f"{LOGICAL}.Sample"], "it uses Sample"),
        ([f"{LOGICAL}.LocalRelation"], "it uses LocalRelation"),
        ([f"{LOGICAL}.Range"], "it uses Range"),
        ([f"{EXPRESSIONS}.Rand"], "it uses Rand"),
        (["com.example.Project"], "it uses Project"),
        ([f"{EXPRESSIONS}.Sum"], "it uses Sum"),  # of another package than Spark's
        (["a temporary view", f"{EXPRESSIONS}.Rand"], "it uses a temporary view"),
    ],
)
def test_what_is_not_known_is_not_kept(kinds, said):
    assert reuse.forbidden(kinds) == said


# Clocks, users, sessions, random numbers, functions of users, files: Spark's own flag
# `deterministic` is true for most of them.
BEYOND_ROWS = """
AesEncrypt ApplyFunctionExpression CallMethodViaReflection CurrentCatalog CurrentDatabase
CurrentDate CurrentTime CurrentTimeZone CurrentTimestamp CurrentUser InputFileBlockLength
InputFileBlockStart InputFileName Invoke LocalTimestamp MonotonicallyIncreasingID Now PythonUDF Rand
RandStr Randn SQLScalarFunction ScalaUDF Shuffle SparkPartitionID SparkVersion StaticInvoke
TryReflect Uniform UserDefinedExpression Uuid VariableReference
"""


@pytest.mark.parametrize("name", BEYOND_ROWS.split())
def test_what_hangs_on_more_than_rows_is_not_known(name):
    assert reuse.forbidden([f"{EXPRESSIONS}.{name}"]) == f"it uses {name}"
