"""What a kill leaves of clones, branches and tags, and what the next call makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.delta_rs import folder_in
from functional.versions.kept import Kept, append, rows_by_spark, rows_of
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.log_folder import LogFolder
from alluvium.delta.refs import clones, cloning, dependents, unregistered
from alluvium.delta.refs.dependents import Dependent
from alluvium.delta.refs.refs import base_of, ref_in, tag_folder
from alluvium.versions import branches, refs
from alluvium.versions.branches import Branch
from alluvium.versions.points import Point

pytestmark = pytest.mark.spark

Calls = Callable[..., refs.Made]
PARTS = ("register", pytest.param("manage", marks=pytest.mark.slow))


@pytest.fixture
def half(spark: SparkSession) -> Calls:
    """Clones a version of a table as `versions.half`."""

    def clone(table: str, version: int | None = None, **more: str) -> refs.Made:
        return refs.clone(spark, Point(table, version), "half", schema="versions", **more).apply()

    return clone


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch, half: Calls) -> Callable[..., None]:
    """Does the same, and is killed before a part of it: the name of a function of the catalog."""

    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def clone(part: str, table: str, version: int) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(unregistered, part, kill)
            with pytest.raises(KeyboardInterrupt):
                half(table, version)

    return clone


@pytest.mark.parametrize("part", PARTS)
def test_the_same_call_completes_it(
    spark: SparkSession, half: Calls, killed: Callable[..., None], part: str
) -> None:
    made = Kept(spark, f"killed_{part}")
    made.insert(1, 2, 3)
    then = made.delete(2)
    killed(part, made.name, then)
    # Another version, or another note, is not what it began.
    made.insert(10)
    said = rf"holds a clone of version {then} of {made.name}, as a kill leaves it"
    with pytest.raises(ValueError, match=rf"{said}.* version: {then}, which completes it"):
        half(made.name)
    with pytest.raises(ValueError, match=said):
        half(made.name, then, message="of mine")
    shown = spark.sql(f"select * from {made.name} version as of {then}").inputFiles()
    assert half(made.name, then).files == len(shown)
    assert rows_by_spark(spark, "versions.half") == made.versions[then]
    with pytest.raises(ValueError, match=f"is there already, a clone of version {then} of"):
        half(made.name, then)
    folder = log.qualified(log.delta_log(spark, made.name))
    assert [one.name for one in dependents.noted(spark, folder)] == ["versions.half"]
    # Out of the catalog it is whole, and the same call enters it again.
    unregistered.unregister(spark, "versions.half")
    assert rows_of(spark, f"delta.`{folder_in(spark, 'versions.half')}`") == made.versions[then]
    assert half(made.name, then).files == len(shown)
    # Its files are its own, whatever was killed.
    spark.sql("drop table versions.half")
    assert not (made.folder.parent / "half").exists()


@pytest.mark.slow
def test_what_is_another_table_stays(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    half: Calls,
    killed: Callable[..., None],
) -> None:
    made = Kept(spark, "killed_others")
    made.insert(1, 2, 3)
    then = made.delete(2)
    killed("register", made.name, then)
    written = f"delta.`{made.folder.parent}/half`"
    append(made.folder.parent / "half", {9: "own"})
    with pytest.raises(ValueError, match=r"accepted: another name; alluvium\.recover"):
        half(made.name, then)
    assert rows_of(spark, written) == {**made.versions[then], 9: "own"}
    shutil.rmtree(made.folder.parent / "half")

    # The same command at the same time completes what was not killed: the clone is there once.
    register = unregistered.register

    def second(*args: Any, **how: bool) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(unregistered, "register", register)
            half(made.name, then)
        register(*args, **how)

    with monkeypatch.context() as patch:
        patch.setattr(unregistered, "register", second)
        with pytest.raises(AnalysisException, match="already exists"):
            half(made.name, then)
    assert rows_of(spark, "versions.half") == made.versions[then]
    spark.sql("drop table versions.half")

    # A table that was dropped and made again has other rows under the same number.
    killed("register", made.name, then)
    spark.sql(f"drop table {made.name}")
    again = Kept(spark, "killed_others")
    again.insert(1, 2, 3)
    assert again.delete(2) == then
    with pytest.raises(ValueError, match=r"accepted: another name; alluvium\.recover"):
        half(made.name, then)
    shutil.rmtree(made.folder.parent / "half")


def branched(made: Kept, branch: Branch) -> bool:
    """Whether a branch got a table of the newest version."""
    branches.make_schema(made.spark, branch, branch.schema)
    name = made.name.partition(".")[2]
    source = Point(made.name, made.version)
    return branches.make_table(made.spark, branch, source, (branch.schema, name)).apply()


@pytest.mark.slow
def test_a_branch_whose_discard_was_killed(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each file that goes the rest can be read, and no later branch takes it for its own."""
    made, branch = Kept(spark, "discarded"), Branch("gone", "versions")
    made.insert(1, 2, 3)
    assert branched(made, branch)
    ours = folder_in(spark, f"{branch.schema}.discarded")
    append(ours, {9: "own"})
    ref = ref_in(spark, f"file:{ours}")
    assert ref is not None
    delete = clones.Files.delete

    def once(files: clones.Files, path: str) -> None:
        delete(files, path)
        raise KeyboardInterrupt

    unregistered.unregister(spark, f"{branch.schema}.discarded")
    with pytest.raises(ValueError, match="catalog does not know it, as a killed discard leaves it"):
        branched(made, branch)
    seen = [rows_of(spark, f"delta.`{ours}`")]
    while Path(ours / "_delta_log" / f"{1:020}.json").exists():
        with monkeypatch.context() as patch:
            patch.setattr(clones.Files, "delete", once)
            with pytest.raises(KeyboardInterrupt):
                clones.drop(spark, ref)
        seen.append(rows_of(spark, f"delta.`{ours}`"))
    then = made.rows.copy()
    assert (seen[0], seen[-1]) == ({**then, 9: "own"}, then)
    assert all(one in (seen[0], then) for one in seen)
    # What is left is an older version than the one that is wanted now.
    made.insert(4)
    assert branched(made, branch)
    assert rows_by_spark(spark, f"{branch.schema}.discarded") == made.rows
    branches.discard(spark, branch, []).apply()
    assert not ours.exists()


@pytest.mark.slow
def test_a_branch_that_recover_entered(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's command had made it, without progress: the same call brings that all the same."""
    made, branch = Kept(spark, "entered"), Branch("half", "versions")
    made.insert(1)

    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cloning, "is_plain", lambda _: False)
        patch.setattr(log, "commit_transactions", kill)
        with pytest.raises(KeyboardInterrupt):
            branched(made, branch)
    table = f"{branch.schema}.entered"
    place = unregistered.default_folder(spark, branch.schema, "entered")
    unregistered.register(spark, table, place, managed=True)
    assert base_of(spark, table) is None
    assert not branched(made, branch)
    began = base_of(spark, table)
    assert began is not None
    assert began.version == made.version
    branches.discard(spark, branch, []).apply()


def test_a_tag_that_was_killed_in_its_commit(spark: SparkSession) -> None:
    """It is none: nobody could take it away, so it stops no drop, and is not damaged."""
    made = Kept(spark, "drafted")
    folder = log.folder(spark, made.name)
    tag = Dependent("tag", "draft", tag_folder(folder, "draft"))
    dependents.note(spark, tag, [folder])
    place = Path(tag.location.removeprefix("file:")) / "_delta_log"
    place.mkdir(parents=True)
    (place / f".{0:020}.json.a.tmp").write_text("{")
    assert dependents.needing(spark, folder) == []
    assert not LogFolder(spark, tag.location).exists()
