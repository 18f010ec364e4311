"""Which files of a landing folder are read next."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from alluvium.ingest.intake import Intake
from alluvium.ingest.landing import Landed, may_be_listed, replaced, triggers, unread
from alluvium.ingest.local_folder import each_once, read_places


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


def test_an_archive_never_overwrites() -> None:
    """By a store that says so, as Hadoop's file systems do."""
    there = {"/kept/in/a.json": "first", "/kept/in/a.2.json": "second", "/in/a.json": "third"}

    def rename(path: str, new: str) -> None:
        if new in there:
            raise FileExistsError(new)
        there[new] = there.pop(path)

    Intake._archive(
        cast("Any", SimpleNamespace(_files=SimpleNamespace(rename=rename))),
        "/in/a.json",
        "/kept/in/a.json",
    )
    assert there == {
        "/kept/in/a.json": "first",
        "/kept/in/a.2.json": "second",
        "/kept/in/a.3.json": "third",
    }


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


def test_what_lies_behind_links_is_read_too(tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    for name in ("landing/a/deep", "disk/sub", "other", "hidden"):
        (tmp_path / name).mkdir(parents=True)
    for link, target in {
        "landing/a/on": "disk",
        "disk/sub/on": "other",
        "landing/b.json": "away/b.json",
        "landing/a/deep/up": "landing/a",
        "landing/_hidden": "hidden",
    }.items():
        (tmp_path / link).symlink_to(tmp_path / target)

    def found(pattern: str) -> set[str]:
        return {os.path.relpath(place, tmp_path) for place in read_places(f"{folder}{pattern}")}

    assert found("") == {"landing", "disk", "other", "away/b.json"}
    assert found("/*/*") == {"landing/*/*", "disk", "other", "away/b.json/*"}
    assert found("/a/*/*.json") == {"landing/a/*/*.json", "disk/*.json"}
    assert found("/{a,x}/*/*.json") == {"landing/{a,x}/*/*.json", "disk", "other", "away/b.json"}
    assert found("/x*/*.json") == {"landing/x*/*.json"}
    assert found("/a/on") == {"disk", "other"}
    assert list(read_places("s3a://bucket/a/*")) == ["s3a://bucket/a/*"]


def test_a_file_that_links_give_more_names_comes_once(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "landing").mkdir()
    for link in ("on", "again"):
        (tmp_path / "landing" / link).symlink_to(tmp_path / "disk")
    base = f"{tmp_path}/landing"

    def files(folder: str, **times: int) -> list[Landed]:
        return [
            Landed(f"{folder}/{name}", f"file:{base}/{folder}/{name}", 1, time)
            for name, time in times.items()
        ]

    times = {"read": 1, "held": 1, "later": 2, "new": 1}
    own, by_link, again = (files(folder, **times) for folder in ("../disk", "on", "again"))
    # One of another time was not read: the link led elsewhere then.
    known = {"on/read": 1, "on/held": -1, "on/later": 1}
    kept, linked = each_once(own, known, base)
    assert ([file.name for file in kept], linked) == (["../disk/later", "../disk/new"], set())
    kept, linked = each_once([*again, *own, *by_link], known, base)
    assert {file.name for file in kept} == known.keys() | {"../disk/later", "../disk/new"}
    assert linked == {file.name for file in (*again, *by_link)}
    kept, _ = each_once([*by_link, *again], known, base)
    assert {file.name for file in kept} == {file.name for file in by_link}
    kept, _ = each_once(again, known, base)
    assert {file.name for file in kept} == {"again/later", "again/new"}
