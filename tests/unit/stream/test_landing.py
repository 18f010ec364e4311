"""Which files of a landing folder are read next."""

from __future__ import annotations

import pytest

from alluvium.ingest.landing import Landed, may_be_listed, replaced, triggers, unread


def file(name: str, size: int = 1, time: int = 0) -> Landed:
    return Landed(name, f"file:/in/{name}", size, time)


def test_the_oldest_first_and_none_twice() -> None:
    landed = [file("b", time=2), file("c", time=1), file("a", time=2), file("d")]
    assert [f.name for f in unread(landed, {"d": None})] == ["c", "a", "b"]


def test_replaced_by_size_or_time() -> None:
    landed = [file("same"), file("size", 2), file("time", time=1), file("by name"), file("new")]
    read = {"same": (1, 0), "size": (1, 0), "time": (1, 0), "by name": None}
    assert [f.name for f in replaced(landed, read)] == ["size", "time"]


@pytest.mark.parametrize(
    ("max_files", "max_bytes", "expected"),
    [
        (None, None, ["abcd"]),
        (2, None, ["ab", "cd"]),
        (3, None, ["abc", "d"]),
        (None, 10, ["ab", "c", "d"]),
        (None, 1, ["a", "b", "c", "d"]),
    ],
)
def test_triggers(max_files: int | None, max_bytes: int | None, expected: list[str]) -> None:
    files = [file("a", 4), file("b", 6), file("c", 11), file("d", 5)]
    chosen = triggers(files, max_files, max_bytes)
    assert ["".join(f.name for f in some) for some in chosen] == expected
    assert list(triggers([], max_files, max_bytes)) == []


@pytest.mark.parametrize(
    ("archive", "pattern", "listed"),
    [
        ("/in/done", "/in", True),
        ("/in", "/in", True),
        ("/done", "/in", False),
        ("/in-done", "/in", False),
        ("/in/done", "/in/*/x", True),
        ("/in/done", "/in/2*/x", False),
        ("/in/done", "/in/{a,b}", True),
        ("/in/done", "/in/{a/b,done}/x", True),
        ("/", "/in", True),
        # Of two globs.
        ("/in/*.json", "/in/*.csv", False),
        ("/in/a*", "/in/*b", True),
        ("/in/a?c*", "/in/*b", True),
        ("/in/a?", "/in/b*", False),
        ("/in/*/x*y", "/in/2*/?z", False),
        ("/in/[ab]x", "/in/?y", False),
        ("/in/done", "/in/[^_]*", True),
        ("/in/_done", "/in/[^_]*", False),
        ("/in/_done", "/in/[!_]*", False),
        ("/in/a*b", "/in/a\\*b", True),
        ("/in/ab", "/in/\\a?", True),
        ("/in/[ab]x", "/in/c*", True),  # to refuse too much is the safe side
        ("/p[1]/in", "/p[1]/in", True),
    ],
)
def test_where_an_archive_may_lie(archive: str, pattern: str, listed: bool) -> None:
    assert may_be_listed(archive, pattern) is listed
