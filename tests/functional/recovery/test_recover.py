"""Each damage of a table is told and put right, or what is lost is said; nothing is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from functional.recovery.damage import Copy, Kept, Rows, checkpoint, commit, cut, edit, narrow
from pyspark.sql import SparkSession

from alluvium.delta.log import log
from alluvium.delta.log.commit_files import TableLog
from alluvium.delta.log.states import VersionState
from alluvium.delta.published.setting_back import SettingBack
from alluvium.recovery import recover
from alluvium.report.log_lines import log_lines

pytestmark = pytest.mark.spark

Damage = Callable[[Copy], object]


def added(copy: Copy, version: int) -> Path:
    """A data file that a version added."""
    text = (copy.log / commit(version)).read_text()
    return next(path for path in copy.files() if path.name in text)


def test_a_sound_table(copy: Copy, kept: Kept) -> None:
    before = copy.content()
    report = copy.fsck(full=True)
    assert report.damaged == []
    # What OPTIMIZE and DELETE replaced is within retention: no orphan.
    assert report.lines() == []
    assert (report.tables, report.files, report.sampled) == (1, 4, 4)
    assert copy.content() == before
    assert copy.seen() == kept.rows[-1]


def test_damaged_files(copy: Copy) -> None:
    gone, cut_off, other, _ = copy.live()
    gone.unlink()
    cut(cut_off, 700)
    other.write_bytes(next(one for one in copy.files() if one not in copy.live()).read_bytes())
    vectors = copy.files("*.bin")
    vectors[0].unlink()
    report = copy.fsck()
    assert report.damaged == ["kept"]
    lines = report.lines()
    for said in (
        f"1 data file that the log needs is missing ({gone.name}): what reads it fails, and 12 rows"
        " are lost",
        f"1 data file that the log needs is not whole Parquet ({cut_off.name})",
        f"1 data file has another size than the log says ({other.name})",
        f"cannot be used (missing) ({vectors[0].name}",
    ):
        (line,) = [line for line in lines if said in line]
        assert "alluvium.recover, which goes back to the newest version" in line
    assert len(lines) == 4


def test_what_the_log_says_of_files(copy: Copy) -> None:
    # Bounds that are too narrow, and a file that no version has.
    for version in (5, 6):
        edit(copy.log / commit(version), narrow)
    (copy.place / "part-killed.parquet").write_bytes(b"PAR1 half of")
    report = copy.fsck()
    assert report.damaged == ["kept"]
    wrong, orphan = report.lines()
    assert "statistics of id in the log leave values out (4 files of 4 read)" in wrong
    assert "no damage: no version needs 1 file of 12 bytes in the folder" in orphan
    assert "writes without rows left them" in orphan


# What is broken, what fsck says, what recover says, and the version whose rows are there then.
DAMAGES: dict[str, tuple[Damage, str, str, int]] = {
    "the hint is cut": (
        lambda copy: cut(copy.log / "_last_checkpoint", 5),
        "the file that names the newest checkpoint cannot be read (_last_checkpoint)",
        "reads version 6, as before; no row is lost",
        6,
    ),
    "a checkpoint is cut": (
        lambda copy: cut(copy.log / checkpoint(4)),
        "the checkpoint of version 4 is not a whole file",
        "reads version 6, as before; no row is lost",
        6,
    ),
    "the newest commit is gone": (
        lambda copy: (copy.log / commit(6)).unlink(),
        f"1 commit missing ({commit(6)}): version 6 cannot be read",
        "goes back to version 5: version 6 is lost, with what came in them",
        5,
    ),
    "a commit is cut": (
        lambda copy: cut(copy.log / commit(5)),
        f"1 commit unreadable ({commit(5)}): versions 5 to 6 (2 versions) cannot be read",
        "goes back to version 4: versions 5 to 6 are lost, with what came in them",
        4,
    ),
    "a commit is full of NULs": (
        lambda copy: (copy.log / commit(5)).write_bytes(b"\0" * 4096),
        f"1 commit unreadable ({commit(5)}): versions 5 to 6 (2 versions) cannot be read",
        "goes back to version 4: versions 5 to 6 are lost, with what came in them",
        4,
    ),
    "an old commit is gone": (
        lambda copy: (copy.log / commit(2)).unlink(),
        f"1 commit missing ({commit(2)}): the table is whole, for the checkpoint of version 4 is",
        "reads version 6, as before; no row is lost",
        6,
    ),
    "an old commit is cut": (
        lambda copy: cut(copy.log / commit(2)),
        f"1 commit unreadable ({commit(2)}): the table is whole, for the checkpoint of version 4",
        "reads version 6, as before; no row is lost",
        6,
    ),
    "a file is gone": (
        lambda copy: copy.live()[0].unlink(),
        "1 data file that the log needs is missing",
        "goes back to version 4, the newest without 1 data file that cannot be read",
        4,
    ),
    "files of two versions": (
        lambda copy: (copy.live()[0].unlink(), cut(added(copy, 4), 99)),
        "1 data file that the log needs is missing",
        "goes back to version 3, the newest without 1 data file that cannot be read",
        3,
    ),
    "a vector is gone": (
        lambda copy: [path.unlink() for path in copy.files("*.bin")],
        "cannot be used (missing)",
        "goes back to version 5, the newest without 4 data files that cannot be read",
        5,
    ),
}


def check_told(copy: Copy, told: str) -> None:
    report = copy.fsck()
    assert report.damaged == ["kept"]
    assert any(told in line for line in report.lines()), report.lines()


def check_planned(copy: Copy) -> list[str]:
    """A dry run tells what would be done, and does nothing."""
    before = copy.content()
    planned = copy.recover(dry_run=True)
    assert copy.content() == before
    assert planned
    assert all(": would " in line for line in planned), planned
    return planned


def check_recovered(copy: Copy, done: str, rows: Rows) -> list[str]:
    before = copy.content()
    lines = copy.recover(dry_run=False)
    assert any(done in line for line in lines), lines
    assert copy.seen() == rows
    # What was there is there: where it was, or beside the log.
    there = list(copy.content().values())
    assert all(there.count(one) for one in before.values())
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_damages(copy: Copy, kept: Kept, damage: str) -> None:
    change, told, done, version = DAMAGES[damage]
    change(copy)
    check_told(copy, told)
    planned = check_planned(copy)
    assert len(check_recovered(copy, done, kept.rows[version])) <= len(planned)
    assert copy.fsck().damaged == []
    assert copy.recover(dry_run=False) == []


@pytest.mark.proves("recovery", on="embedded")
def test_one_damage_after_another(copy: Copy, kept: Kept) -> None:
    """Of a checkpoint, of a file and of a commit: each is put right before the next one comes."""
    change, told, done, version = DAMAGES["a checkpoint is cut"]
    change(copy)
    check_told(copy, told)
    check_recovered(copy, done, kept.rows[version])
    change, told, done, version = DAMAGES["a file is gone"]
    change(copy)
    check_told(copy, told)
    planned = check_planned(copy)
    assert len(check_recovered(copy, done, kept.rows[version])) <= len(planned)
    # The recovery was version 7.
    change, *_ = DAMAGES["a commit is cut"]
    change(copy)
    check_told(copy, "versions 5 to 7 (3 versions) cannot be read")
    lost = "goes back to version 4: versions 5 to 7 are lost, with what came in them"
    check_recovered(copy, lost, kept.rows[4])
    assert copy.fsck().damaged == []
    assert copy.recover(dry_run=False) == []


def test_what_is_told_of_commits_beside_an_old_one_that_is_cut(copy: Copy) -> None:
    cut(copy.log / commit(2))
    sql = f"delta.`{copy.place}`"
    *whole, last = log.newest_first(copy.spark, sql)
    assert [one.version for one in whole] == [6, 5, 4, 3]
    assert last.is_gone
    table_log = TableLog(copy.spark, sql)
    assert len(list(log_lines(table_log, "kept", limit=4))) == 5
    with pytest.raises(
        ValueError, match=rf"version 2 is not whole \({commit(2)}\).*alluvium\.fsck"
    ):
        list(log_lines(table_log, "kept"))
    assert len(VersionState(copy.spark, sql).moves()) == 1


# What is broken of a checkpoint that keeps its files in sidecars, and what is moved aside.
SIDECARS: dict[str, Damage] = {
    "a sidecar is cut": lambda copy: [cut(one, 200) for one in copy.log.glob("_sidecars/*")],
    "a sidecar is gone": lambda copy: [one.unlink() for one in copy.log.glob("_sidecars/*")],
    "its list is cut": lambda copy: [cut(one, 100) for one in copy.log.glob("*.checkpoint.*")],
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", SIDECARS)
def test_checkpoints_with_sidecars(spark: SparkSession, tmp_path: Path, damage: str) -> None:
    kept = Kept(spark, tmp_path / "kept", ", 'delta.checkpointPolicy' = 'v2'")
    copy = Copy(spark, kept.place, tmp_path / "copy")
    assert copy.fsck(full=True).lines() == []
    SIDECARS[damage](copy)
    (line,) = copy.fsck().lines()
    assert "the checkpoint of version 4 cannot be read" in line
    assert "nothing is lost, for older files of the log tell the same" in line
    moved, left = copy.recover(dry_run=False)
    assert "moves 2 files of its log" in moved
    assert "reads version 6, as before; no row is lost" in left
    assert copy.seen() == kept.rows[6]
    assert copy.fsck().damaged == []


def test_nothing_is_left_to_read(copy: Copy) -> None:
    for version in range(5):
        (copy.log / commit(version)).unlink()
    cut(copy.log / checkpoint(4))
    assert any("no version can be read" in line for line in copy.fsck().lines())
    before = copy.content()
    (line,) = copy.recover(dry_run=False)
    assert "nothing could be done: no file of the log gives a version; accepted: a backup" in line
    assert copy.content() == before


@pytest.mark.slow
def test_what_others_commit_meanwhile_stays(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.live()[0].unlink()
    sql = f"delta.`{copy.place}`"

    def late(*args: Any) -> SettingBack:
        monkeypatch.undo()
        copy.spark.sql(f"insert into {sql} (id, name) values (1000, 'theirs')")
        return SettingBack(*args)

    monkeypatch.setattr(recover, "SettingBack", late)
    assert copy.recover(dry_run=False) == [
        "kept: nothing could be done: a concurrent commit came behind the version that was read"
    ]
    assert log.version(copy.spark, sql) == 7
