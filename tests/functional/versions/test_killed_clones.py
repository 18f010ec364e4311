"""A clone that was killed between its commit and its entry in the catalog."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from functional.delta_rs import folder_in
from functional.versions.kept import Kept, append, rows_by_spark, rows_of
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.refs import dependents, unregistered
from alluvium.versions import refs
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
