"""Which versions the files of a log give, what is said of damages, and what is moved away."""

from __future__ import annotations

import pytest

from alluvium.plan.recovery.log_health import (
    HINT,
    Hint,
    LogCheckpoint,
    LogHealth,
    Repair,
    commit_name,
    versions_of,
)


def part(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


def health(
    commits: dict[int, str | None],
    checkpoints: dict[int, str | None] | None = None,
    hint: Hint | None = None,
    more: tuple[str, ...] = (),
) -> LogHealth:
    made = [LogCheckpoint(one, (part(one),), why) for one, why in (checkpoints or {}).items()]
    names = (*map(commit_name, commits), *(one.files[0] for one in made), *more)
    return LogHealth(names, commits, made, hint)


def sound(*versions: int) -> dict[int, str | None]:
    return dict.fromkeys(versions)


@pytest.mark.parametrize(
    "log",
    [
        health(sound(0)),
        health(sound(0, 1, 2)),
        health(sound(0, 1, 2), {1: None}, Hint(1)),
        # Cleaned up behind a checkpoint.
        health(sound(7, 8), {7: None}, Hint(7)),
        health(sound(8, 9), {7: None}),
    ],
)
def test_sound_logs(log: LogHealth) -> None:
    assert log.findings() == []
    assert log.repair() is None
    assert log.sound == log.newest


@pytest.mark.parametrize(
    ("log", "repair"),
    [
        # The file that names the newest checkpoint.
        (health(sound(0, 1), {1: None}, Hint(None), (HINT,)), Repair((HINT,), 1, None)),
        (health(sound(0, 1), {}, Hint(1), (HINT,)), Repair((HINT,), 1, None)),
        # A checkpoint that is cut: the commits tell the same, or not all of it.
        (
            health(sound(0, 1, 2), {1: "is cut"}, Hint(1), (HINT,)),
            Repair((part(1), HINT), 2, None),
        ),
        (
            health(sound(3, 4, 5), {3: None, 5: "is cut"}, Hint(5), (HINT,)),
            Repair((part(5), HINT), 5, None),
        ),
        # A commit that is lost: later ones are of no use, but for a checkpoint behind it.
        (
            health(sound(0, 1, 3, 4)),
            Repair((commit_name(3), commit_name(4)), 1, (2, 4)),
        ),
        (
            health({**sound(0, 1, 3), 2: "unreadable"}),
            Repair((commit_name(2), commit_name(3)), 1, (2, 3)),
        ),
        (
            health(sound(0, 2, 3), {2: None}, Hint(2), (HINT,)),
            Repair((commit_name(0),), 3, None),
        ),
        # The checkpoint behind the loss goes too, with its hint and what is beside the commits.
        (
            health(sound(0, 1, 3), {3: "is cut"}, Hint(3), (HINT, f"{3:020}.crc")),
            Repair((f"{3:020}.crc", commit_name(3), part(3), HINT), 1, (2, 3)),
        ),
        # A checksum tells of the newest commit.
        (
            health(sound(0, 1), more=(f"{2:020}.crc",)),
            Repair((f"{2:020}.crc",), 1, (2, 2)),
        ),
    ],
)
def test_repairs(log: LogHealth, repair: Repair) -> None:
    assert log.findings()
    assert all(one.is_damage for one in log.findings())
    assert log.repair() == Repair(tuple(sorted(repair.aside)), repair.version, repair.lost)


@pytest.mark.parametrize(
    "log",
    [
        health({}),
        health(sound(5, 6)),
        health(sound(5, 6), {5: "is cut"}),
        health({}, {5: None}),
        health({0: "empty", **sound(1)}),
    ],
)
def test_no_version_is_left(log: LogHealth) -> None:
    assert log.sound is None
    assert any("no version can be read" in one.line("t") for one in log.findings())
    with pytest.raises(ValueError, match="accepted: a backup of the log"):
        log.repair()


def test_versions_in_names() -> None:
    assert versions_of(commit_name(3)) == (3,)
    assert versions_of(part(4)) == (4,)
    assert versions_of(f"{1:020}.{3:020}.compacted.json") == (1, 3)
    assert versions_of(HINT) == versions_of("vacuum.json") == ()
