"""What files are called once the path of their source begins elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

import pytest

from alluvium.ingest.landing import Landed, Stamp
from alluvium.ingest.naming import (
    SAME,
    base_of,
    began_at,
    naming,
    other_names,
    renamed,
    taken_along,
)


def file(name: str, size: int = 1, time: int = 0) -> Landed:
    return Landed(name, "", size, time)


@pytest.mark.parametrize("base", ["/in", "/in/a", "/in/a/b", "/in/ab", "/other/x", "/"])
@pytest.mark.parametrize("folder", ["/in", "/in/a", "/in/a/b", "/in/c", "/"])
@pytest.mark.parametrize("name", ["1", "a/1", "a/b/1", "a/b/a/b/1", "ab/1", "in/a/1"])
def test_a_file_has_one_name_below_a_base(base: str, folder: str, name: str) -> None:
    found = renamed(name, naming(f"file:{base}", f"file:{folder}"))
    assert found == posixpath.relpath(posixpath.join(folder, name), base)


def test_another_file_system_is_in_the_name() -> None:
    names = naming("s3a://one/in", "s3a://two/in")
    assert renamed("x/1", names) == "s3a://two/in/x/1"
    assert naming("s3a://one", "s3a://one/") == naming("file:/in", "file:/in") == SAME


@pytest.mark.parametrize(
    ("base", "now", "folder", "expected"),
    [
        ("file:/p/landing", "file:/q/home/c/t", "file:/q/landing", "file:/q/landing"),
        ("file:/p/landing", "file:/q/home/c/t", "file:/q/landing/x", "file:/q/landing"),
        ("file:/p/landing", "file:/p/home/c/t", "file:/p/landing/x", "file:/p/landing"),
        # The home alone was moved.
        ("file:/p/landing", "file:/q/home/c/t", "file:/p/landing", "file:/p/landing"),
        ("file:/p/landing", "file:/q/home/c/t", "file:/p/landing/x", "file:/p/landing"),
        ("s3a://b/landing", "file:/q/home/c/t", "s3a://c/landing", "s3a://b/landing"),
    ],
)
def test_a_folder_that_is_taken_along(base: str, now: str, folder: str, expected: str) -> None:
    assert taken_along(base, "file:/p/home/c/t", now, folder) == expected
    in_store = [place.replace("file:/", "s3a://b/") for place in (base, now, folder, expected)]
    base, now, folder, expected = in_store
    assert taken_along(base, "s3a://b/p/home/c/t", now, folder) == expected


READ: Mapping[str, Stamp] = {"1": (5, 10), "o/2": (6, 20), "by name": None}


@pytest.mark.parametrize(
    ("folder", "landed", "at_base", "expected"),
    [
        # Narrower, with files that were read, and with new ones alone.
        ("/in/o", [file("2", 6, 20), file("3")], {"o/2"}, "/in"),
        ("/in/o", [file("3")], {"o/3"}, "/in"),
        ("/in/o", [file("1", 7, 10)], {"1", "o/1"}, "/in"),
        # Wider.
        ("/", [file("in/1", 5, 10), file("1", 5, 10)], {"1"}, "/in"),
        # Copies, or written again under the same size.
        ("/new", [file("1", 5, 11)], set(), None),
        # Moved down: as it was, then written again by an object store, then copied.
        ("/in/n", [file("1", 5, 10), file("o/2", 6, 20)], {"n/1", "n/o/2"}, "/in/n"),
        ("/in/n", [file("1", 5, 11)], {"n/1"}, None),
        ("/in/n", [file("1", 5, 10)], {"1", "n/1"}, None),
        # Moved elsewhere, nothing is left.
        ("/new", [file("1", 5, 10), file("9")], set(), "/new"),
        # Moved elsewhere, and the path is narrower or wider than it was; then one that stayed.
        ("/new/o", [file("2", 6, 20), file("9")], set(), None),
        ("/new", [file("o/1", 5, 10)], set(), None),
        ("/new", [file("o/1", 5, 10)], {"1"}, "/in"),
        # Other files, also where what was read has gone.
        ("/new", [file("1", 9, 9)], set(), "/in"),
        ("/new", [], set(), "/in"),
        ("/in/n", [file("1", 9, 9)], set(), "/in"),
        ("/new", [file("4"), file("1", 9)], {"1"}, "/in"),
        ("/new", [file("1", 5, 11)], {"1"}, None),
        ("/new", [file("by name", 5, 11)], {"1"}, None),
        ("/new", [file("held", 5, 11)], {"1"}, None),
    ],
)
def test_where_names_begin(
    folder: str, landed: list[Landed], at_base: set[str], expected: str | None
) -> None:
    found = base_of(
        "file:/in",
        f"file:{folder}",
        landed,
        READ,
        {"held"},
        lambda _, name: name in at_base,
    )
    assert found == (expected and f"file:{expected}")


def test_another_bucket_with_the_same_files_is_another_place() -> None:
    """They are copies or new events: a store gives a copy a time of its own."""
    for base, folder in (("s3a://one/in", "s3a://two/in"), ("s3a://one/in", "file:/in")):
        landed = [file("1", 5, 11), file("o/2", 6, 21), file("9")]
        gone, there = ((lambda *_, lies=lies: lies) for lies in (False, True))
        assert base_of(base, folder, landed, READ, set(), there) is None
        assert base_of(base, folder, landed, READ, set(), gone) is None
        # With the times of those that were read, and nothing left there, they were moved.
        moved = [file("1", 5, 10), file("o/2", 6, 20)]
        assert base_of(base, folder, moved, READ, set(), gone) == folder
        assert base_of(base, folder, moved, READ, set(), there) is None
        # Others have names of their own.
        assert base_of(base, folder, [file("9"), file("1", 7, 10)], READ, set(), there) == base
        assert renamed("1", naming(base, folder)) == f"{folder}/1"


@pytest.mark.parametrize(
    ("landed", "expected"),
    [
        ([file("2", time=20)], "/in"),
        ([file("o/2", time=20), file("2", time=20)], "/in/o"),
        ([file("x/o/2", time=20), file("x/1", time=10), file("1", time=10)], "/in/o"),
        ([file("x/o/2", time=20), file("x/1", time=10)], "/in/o/x"),
        ([file("2", time=21), file("new")], "/in/o"),
        ([], "/in/o"),
    ],
)
def test_times_tell_where_names_began(landed: list[Landed], expected: str) -> None:
    times = {"1": 10, "o/2": 20, "by name": 0}
    assert began_at("file:/in/o", landed, times) == f"file:{expected}"


def test_a_known_file_may_have_another_name() -> None:
    landed = [file("1", time=5), file("a/2", time=5), file("3", time=6), file("b/4", time=5)]
    known = {"x/1": 5, "a/2": 5, "x/3": 5, "x/4": -1}
    for of_paths in (False, True):
        assert list(other_names(landed, known, of_paths=of_paths)) == [("1", "x/1")]
    # Where both lie there they are two.
    assert list(other_names([*landed, file("x/1", time=5)], known, of_paths=False)) == []
    # Of another day, by a program that gives its files no time.
    days = [file("02/data", time=0)], {"01/data": 0, "data/01": 0}
    assert list(other_names(*days, of_paths=False)) == [("02/data", "01/data")]
    assert list(other_names(*days, of_paths=True)) == []
