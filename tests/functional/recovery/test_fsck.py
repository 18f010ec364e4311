"""What `fsck` says of each damage, and that it says nothing of a sound table."""

from __future__ import annotations

import pytest
from functional.recovery.damage import Copy, Kept, commit, cut, edit, narrow

pytestmark = pytest.mark.spark


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
