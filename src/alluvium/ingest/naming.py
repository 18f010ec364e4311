"""What the files of a landing folder are called once `path` begins elsewhere. Pure.

A name is a file's path below the folder where the names of its table begin. It stays that one: a
file outside of it has a name that begins with `../`, or with its own file system. So a file has one
name, however `path` is written, and no two files have the same.

A *place* is a folder with its file system and without links, such as `file:/data/landing`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from alluvium.ingest.landing import Landed, Stamp
from alluvium.paths import Place, name_of

# Beginnings of names below one folder, and what stands there in names below another.
Naming = tuple[tuple[str, str], ...]
SAME: Naming = (("", ""),)


def naming(base: str, folder: str) -> Naming:
    """How names below `folder` become names below `base`; the first beginning that fits counts."""
    own, other = Place.of(base), Place.of(folder)
    if own.system != other.system:
        return (("", other.below),)
    if own.inside(other) is None:
        return (("", f"{other.way(own)}/"),)
    steps = own.steps[len(other.steps) :]
    ends = range(len(steps), -1, -1)
    return tuple(
        ("".join(f"{step}/" for step in steps[:end]), "../" * (len(steps) - end)) for end in ends
    )


def renamed(name: str, names: Naming) -> str:
    """The name below the base."""
    return next(there + name[len(here) :] for here, there in names if name.startswith(here))


def taken_along(base: str, root: str, now: str, folder: str) -> str:
    """Where names begin if the folder was moved or copied together with its checkpoint.

    Args:
        base: Where they began.
        root: The place of the checkpoint then.
        now: The place of the checkpoint now.
        folder: The place of the path: it lies in what was taken along, or above it.
    """
    own, then, there, here = map(Place.of, (base, root, now, folder))
    if own == here or not own.system == then.system == there.system:
        return base
    taken = there / own.way(then)
    is_one = taken.inside(here) is not None or here.inside(taken) is not None
    return str(taken) if is_one else base


def base_of(
    base: str,
    folder: str,
    landed: Iterable[Landed],
    read: Mapping[str, Stamp],
    held: Set[str],
    lies_in: Callable[[str, str], bool],
) -> str | None:
    """The place where names begin, now that `path` has another folder; None where nobody can tell.

    Args:
        base: Where they begin so far.
        folder: The place of the path.
        landed: Its files, by their names below `folder`.
        read: The files that were read.
        held: Names that the table holds events of.
        lies_in: Whether a folder has a file of a name.
    """
    files = list(landed)
    names = naming(base, folder)
    if any(renamed(file.name, names) in read.keys() | held for file in files):
        return base
    same = [file for file in files if _has_size(file, read, held)]
    if not same:
        # Moved, and the path begins elsewhere in them: they have other names, and their stamps.
        known = {(name_of(name), stamp): name for name, stamp in read.items() if stamp}
        were = (known.get((name_of(file.name), file.stamp)) for file in files)
        return None if any(one and not lies_in(base, one) for one in were) else base
    # Moved files keep their time. Of a store that gives them another one nobody can tell.
    if all(read.get(file.name) == file.stamp and not lies_in(base, file.name) for file in same):
        return folder
    return None


def began_at(folder: str, landed: Iterable[Landed], times: Mapping[str, int]) -> str:
    """The place where names began that nobody noted: the times of their files tell it.

    Args:
        folder: The place of the path: the answer where nothing speaks for another.
        landed: Its files, by their names below `folder`.
        times: When each known file was written, in ms since 1970.
    """
    found = Counter(
        base
        for file in landed
        for base, name in _names_above(folder, file.name)
        if times.get(name) == file.time
    )
    return folder if folder in found or not found else found.most_common(1)[0][0]


def other_names(
    landed: Iterable[Landed], times: Mapping[str, int], *, of_paths: bool
) -> Iterator[tuple[str, str]]:
    """New files with a known one that has their last name and time, and lies there no more.

    Args:
        landed: The files, by their names below the base.
        times: When each known file was written, in ms since 1970.
        of_paths: Whether one of the names has to end as the other, as below a path that begins
            elsewhere.
    """
    files, gone = list(landed), defaultdict[tuple[str, int], list[str]](list)
    for name in times.keys() - {file.name for file in files}:
        gone[name_of(name), times[name]].append(name)
    for file in files:
        if file.name not in times:
            for was in sorted(gone.get((name_of(file.name), file.time), ())):
                short, long = sorted((f"/{file.name}", f"/{was}"), key=len)
                if long.endswith(short) or not of_paths:
                    yield file.name, was


def _names_above(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """Each place above a file, with the name that the file has below it."""
    file = Place.of(folder) / name
    parts = file.steps
    for end in range(len(parts)):
        yield f"{file.system}/{'/'.join(parts[:end])}", "/".join(parts[end:])


def _has_size(file: Landed, read: Mapping[str, Stamp], held: Set[str]) -> bool:
    """Whether a file has the name of a known one, and not another size."""
    stamp = read.get(file.name)
    if stamp is not None:
        return stamp[0] == file.size
    return file.name in read or file.name in held
