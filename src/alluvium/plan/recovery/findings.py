"""Findings: what is wrong with a table, in which file, what it means and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from alluvium.paths import name_of
from alluvium.wording import counted

_NAMED = 3
RECOVER = "alluvium.recover"


@dataclass(frozen=True)
class Finding:
    """Something about a table that a person should know.

    Attributes:
        what: is wrong.
        means: for readers and writers.
        helps: what to do; empty where nothing has to be done.
        files: names of those that it is about.
        is_damage: whether rows, versions or progress are lost or in danger.
    """

    what: str
    means: str
    helps: str = ""
    files: tuple[str, ...] = ()
    is_damage: bool = True

    def line(self, table: str) -> str:
        """The line of the console."""
        which = f" ({named(self.files)})" if self.files else ""
        then = f" Helps: {self.helps}." if self.helps else ""
        kind = "" if self.is_damage else "no damage: "
        return f"{table}: {kind}{self.what}{which}: {self.means}.{then}"


@dataclass(frozen=True)
class NeededFile:
    """A data file that the newest version of a table needs, and what is there.

    Attributes:
        path: absolute.
        bytes, rows: as the log has them; rows None where it does not say.
        found_bytes: None for a file that is not there.
        found_rows: of the footer; None for a file that does not open.
    """

    path: str
    bytes: int
    rows: int | None
    found_bytes: int | None
    found_rows: int | None

    @property
    def damage(self) -> str | None:
        """Why readers fail or see wrong rows; None for a sound file."""
        if self.found_bytes is None:
            return "missing"
        if self.found_rows is None:
            return "unreadable"
        if self.found_bytes != self.bytes:
            return "size"
        if self.rows is not None and self.rows != self.found_rows:
            return "rows"
        return None


def renamed(table: str, now: str) -> Finding:
    """Of a table that somebody gave another name; both names as SQL writes them."""
    return Finding(
        f"it was renamed, and is {now} now",
        "its files moved along, so published tables, clones, branches and tags that show them"
        " cannot be read",
        f"`alter table {now} rename to {table}`, which mends all of them",
    )


def named(files: Sequence[str]) -> str:
    """A few of them, and how many there are."""
    some = ", ".join(files[:_NAMED])
    return some if len(files) <= _NAMED else f"{some}, … {len(files):,} in all"


_OF_FILES = {
    "missing": (
        "{files} that the log needs {are} missing",
        "what reads {them} fails, and {rows} are lost unless the {kind} back",
    ),
    "unreadable": (
        "{files} that the log needs {are} not whole Parquet",
        "what reads {them} fails, and {rows} are lost unless the {kind} back",
    ),
    "size": (
        "{files} {have} another size than the log says",
        "somebody wrote over {them}: readers may fail or see other rows",
    ),
    "rows": (
        "{files} {have} another number of rows than the log says",
        "counts, limits and pruning may be wrong",
    ),
}
UNUSABLE = ("missing", "unreadable", "size")


def of_files(files: Iterable[NeededFile], *, is_tag: bool = False) -> Iterator[Finding]:
    """What is wrong with data files, a finding for each kind of damage.

    is_tag: whether they are a tag's, which has no other version.
    """
    by_kind: dict[str, list[NeededFile]] = {}
    for file in files:
        if file.damage is not None:
            by_kind.setdefault(file.damage, []).append(file)
    for kind in _OF_FILES:
        some = sorted(by_kind.get(kind, ()), key=lambda file: file.path)
        if not some:
            continue
        what, means = (_worded(text, some) for text in _OF_FILES[kind])
        helps = "to write the files again, as OPTIMIZE does"
        if kind in UNUSABLE:
            back = f"{RECOVER}, which goes back to the newest version without them"
            helps = f"a backup of the files, or {'alluvium.untag' if is_tag else back}"
        yield Finding(what, means, helps, tuple(name_of(file.path) for file in some))


def _worded(text: str, files: Sequence[NeededFile]) -> str:
    one = len(files) == 1
    rows = [file.rows for file in files]
    known = sum(number for number in rows if number is not None)
    return text.format(
        files=counted(len(files), "data file"),
        are="is" if one else "are",
        have="has" if one else "have",
        them="it" if one else "them",
        kind="file comes" if one else "files come",
        rows="an unknown number of rows" if None in rows else counted(known, "row"),
    )


def of_vectors(damaged: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """What is wrong with deletion vectors: the file of each, and why it does not read."""
    if damaged:
        whys = sorted({why for _, why in damaged})
        yield Finding(
            f"{counted(len(damaged), 'deletion vector')} cannot be used ({'; '.join(whys)})",
            "what reads their data files fails; without the vectors deleted rows would come back",
            f"a backup of the files, or {RECOVER}, which goes back to the newest version without"
            " them",
            tuple(sorted({name_of(file) for file, _ in damaged})),
        )


def in_log(vectors: int, is_published: bool) -> Iterator[Finding]:
    """Deletion vectors that stand in the log: of files that are there, and within retention."""
    if vectors:
        helps = f"the next publish, or {RECOVER}" if is_published else RECOVER
        yield Finding(
            f"{counted(vectors, 'deletion vector')} of its log",
            "readers are right, but Delta's VACUUM fails on vectors that are not in files",
            f"{helps}, which puts them into files",
            is_damage=False,
        )


def of_bounds(columns: Iterable[tuple[str, str]], looked: int, total: int) -> Iterator[Finding]:
    """Statistics that do not hold the values of their file.

    columns: file and column of each.
    looked, total: files that were read, and all of them.
    """
    wrong = sorted(columns)
    if wrong:
        names = ", ".join(dict.fromkeys(column for _, column in wrong))
        yield Finding(
            f"statistics of {names} in the log leave values out"
            f" ({counted(looked, 'file')} of {total:,} read)",
            "queries and merges skip files that hold matching rows",
            "`analyze table … compute delta statistics`, or to write the files again, as OPTIMIZE"
            " does",
            tuple(dict.fromkeys(name_of(file) for file, _ in wrong)),
        )


def orphans(files: int, size: int) -> Iterator[Finding]:
    """Files in the folder that nothing needs."""
    if files:
        yield Finding(
            f"no version needs {counted(files, 'file')} of {size:,} bytes in the folder",
            "versions past the table's retention, killed writers and writes without rows left them,"
            " or a writer is about to commit",
            "alluvium.vacuum, when they are older than the table's retention",
            is_damage=False,
        )
