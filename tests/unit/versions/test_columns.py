"""Columns of two versions: which are the same, and which names are not the same any more."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StructField, StructType

from alluvium.plan.versions.properties import PHYSICAL
from alluvium.versions.columns import Columns, mixed_up, renamed


def columns(**physical: str | tuple[str, DataType]) -> StructType:
    """By their names, columns of other names in files; of those with a type, it is given."""
    fields = []
    for name, one in physical.items():
        inside, kind = (one, IntegerType()) if isinstance(one, str) else one
        fields.append(StructField(name, kind, True, {PHYSICAL: inside}))
    return StructType(fields)


INSIDE = columns(x="x", y="y")
BEGAN = columns(a="a", b="b", s=("s", INSIDE), m=("m", MapType(IntegerType(), ArrayType(INSIDE))))
NEITHER, OURS, THEIRS, BOTH = (False, False), (True, False), (False, True), (True, True)


def changed(**names: str | tuple[str, DataType]) -> StructType:
    kept = {one.name: (one.metadata[PHYSICAL], one.dataType) for one in BEGAN}
    return columns(**(kept | names))


@pytest.mark.parametrize(
    ("ours", "theirs", "replaced", "found"),
    [
        (changed(), changed(), NEITHER, []),
        # Swapped, by either side and by both.
        (changed(a="b", b="a"), changed(), NEITHER, ["a", "b"]),
        (changed(), changed(a="b", b="a"), NEITHER, ["a", "b"]),
        (changed(a="b", b="a"), changed(a="b", b="a"), NEITHER, []),
        # Dropped and added, by either side and by both; the last is two new columns of one name.
        (changed(a="p1"), changed(), NEITHER, ["a"]),
        (changed(), changed(a="p2"), NEITHER, ["a"]),
        (changed(a="p1"), changed(a="p2"), NEITHER, []),
        # One dropped, another given its name, and a new one in its place.
        (changed(b="a", a="p1"), changed(), NEITHER, ["a", "b"]),
        # Added by both.
        (changed(w="p1"), changed(w="p2"), NEITHER, []),
        # Inside.
        (changed(s=("s", columns(x="y", y="x"))), changed(), NEITHER, ["s.x", "s.y"]),
        (changed(s=("p1", INSIDE)), changed(), NEITHER, ["s"]),
        (
            changed(m=("m", MapType(IntegerType(), ArrayType(columns(x="p1", y="y"))))),
            changed(),
            NEITHER,
            ["m.value.x"],
        ),
        # Given a name that the other one has added.
        (columns(a="b"), columns(a="a"), NEITHER, ["a"]),
        (columns(c="a"), columns(c="p1"), NEITHER, ["c"]),
        # Made again, with new columns or the old ones.
        (changed(a="p1", b="p2"), changed(), OURS, []),
        (changed(a="b", b="a"), changed(), OURS, ["a", "b"]),
        (changed(), changed(a="p1"), OURS, ["a"]),
        (changed(), changed(a="p1", b="p2"), THEIRS, []),
        (changed(a="p1"), changed(), THEIRS, ["a"]),
        (changed(a="p1", b="p2"), changed(), BOTH, []),
        (changed(a="b", b="a"), changed(a="p1", b="p2"), THEIRS, ["a", "b"]),
        (changed(a="p1", b="p2"), changed(a="b", b="a"), OURS, ["a", "b"]),
        # Without ids, names are all there is.
        (StructType([StructField("a", IntegerType())]), changed(), NEITHER, []),
    ],
)
def test_names_of_other_columns(
    ours: StructType, theirs: StructType, replaced: tuple[bool, bool], found: list[str]
) -> None:
    assert mixed_up(ours, theirs, BEGAN, BEGAN, replaced=replaced) == found


def test_columns_that_have_another_name() -> None:
    other = columns(c="a", b="b")
    assert renamed(other, columns(a="a", b="b")) == {"c": "a"}
    assert renamed(columns(a="a", b="b"), other) == {"a": "c"}
    # Names that both have are told of otherwise; so is what only one has.
    assert renamed(columns(a="b", b="a"), columns(a="a", b="b")) == {}
    assert renamed(columns(a="a", b="p1"), columns(a="a", c="c")) == {}
    assert renamed(columns(c="a", a="p1"), columns(a="a")) == {}
    # Without ids a column is another one.
    plain = StructType([StructField("c", IntegerType())])
    assert renamed(plain, columns(a="a")) == {}


def test_columns_that_came_before_the_last_merge() -> None:
    since, theirs = changed(w="p1", h="p2"), changed(w="p3", h="p4")
    assert mixed_up(since, theirs, BEGAN, since, replaced=NEITHER) == []
    swapped = changed(w="p2", h="p1")
    assert mixed_up(swapped, theirs, BEGAN, since, replaced=NEITHER) == ["h", "w"]
    # Before it, new columns are what each side calls so.
    assert mixed_up(swapped, theirs, BEGAN, BEGAN, replaced=NEITHER) == []


def with_ids(**columns: tuple[str, int]) -> StructType:
    """By their names, columns of other names in files, with their ids."""
    return StructType(
        [
            StructField(name, IntegerType(), True, {PHYSICAL: inside, "delta.columnMapping.id": id})
            for name, (inside, id) in columns.items()
        ]
    )


PLAIN = StructType([StructField(name, IntegerType()) for name in ("id", "gone")])
BEFORE = with_ids(id=("p1", 1), gone=("p2", 2), old=("p3", 3))
# One was dropped, one renamed, and one is new.
AFTER = with_ids(id=("p1", 1), now=("p3", 3), new=("p4", 4))


@pytest.mark.parametrize(
    ("before", "after", "largest", "added", "removed", "in_shared_files"),
    [
        (BEFORE, BEFORE, 3, [], [], False),
        (BEFORE, AFTER, 3, ["new"], ["gone"], False),
        # The way back: files of before may have what it had dropped.
        (AFTER, BEFORE, 4, ["gone"], ["new"], True),
        # Dropped, and another one added under its name.
        (BEFORE, with_ids(id=("p1", 1), old=("p5", 5)), 3, [], ["gone"], True),
        # Names are all there is.
        (PLAIN, StructType([PLAIN["id"], StructField("New", IntegerType())]), None,
         ["New"], ["gone"], False),
    ],
)  # fmt: skip
def test_which_columns_are_the_same(
    before: StructType,
    after: StructType,
    largest: int | None,
    added: list[str],
    removed: list[str],
    in_shared_files: bool,
) -> None:
    found = Columns(before, after, largest)
    assert (found.added, found.removed) == (added, removed)
    assert found.in_shared_files is in_shared_files
    assert found.of_key(["ID"]) == ["id"]
    for name in removed:
        with pytest.raises(ValueError, match=f"{name} is not in both versions; accepted: id"):
            found.of_key(["id", name])
