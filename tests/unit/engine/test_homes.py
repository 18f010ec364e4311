"""Places of a home that was moved: which go along, and when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from alluvium.engine.homes import HomeMove

MOVE = HomeMove(Path("/a/home"), Path("/b/new home"))


@pytest.mark.parametrize(
    ("uri", "moved"),
    [
        ("file:/a/home/warehouse", "file:/b/new home/warehouse"),
        ("file:///a/home/warehouse/s.db/t", "file:///b/new home/warehouse/s.db/t"),
        ("/a/home", "/b/new home"),
        # Another folder whose name only begins so, one outside, one of another file system.
        ("file:/a/homes/warehouse", "file:/a/homes/warehouse"),
        ("file:/data/t", "file:/data/t"),
        ("s3a://a/home/t", "s3a://a/home/t"),
    ],
)
def test_places_in_the_home_go_along(uri: str, moved: str) -> None:
    assert MOVE.place(uri) == moved
    assert MOVE.place(moved) == moved


def home(root: Path, *tables: str) -> Path:
    for table in tables:
        (root / table).mkdir(parents=True)
    return root


def places(root: Path, *tables: str) -> dict[str, str]:
    return {table: f"file:{root / table}" for table in tables}


def test_a_table_that_stayed_behind(tmp_path: Path) -> None:
    old = home(tmp_path / "old", "a", "b")
    move = HomeMove(old, home(tmp_path / "new", "a"))
    tables = places(old, "a", "b")
    assert move.missing(tables) == ["b"]
    assert move.were_left(["b"], tables)


def test_a_table_that_was_lost_before(tmp_path: Path) -> None:
    old = tmp_path / "old"
    move = HomeMove(old, home(tmp_path / "new", "a"))
    tables = places(old, "a", "b")
    assert move.missing(tables) == ["b"]
    assert not move.were_left(["b"], tables)


def test_a_metastore_that_came_alone(tmp_path: Path) -> None:
    old = tmp_path / "old"
    move = HomeMove(old, home(tmp_path / "new", "metastore"))
    tables = places(old, "a", "b") | {"outside": f"file:{tmp_path / 'elsewhere'}"}
    assert move.missing(tables) == ["a", "b"]
    assert move.were_left(["a", "b"], tables)
    assert not HomeMove(old, tmp_path / "new").were_left([], {})
