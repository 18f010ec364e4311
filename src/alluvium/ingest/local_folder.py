"""What lies below a landing folder of this machine: links, and names that Java cannot read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from alluvium.ingest.landing import Landed, before_wildcards, may_be_listed
from alluvium.ingest.spec import real
from alluvium.paths import LOCAL, Place, folder_of, name_of


def mistake(path: str, folder: str, encoding: str) -> str | None:
    """What a listing would leave out in silence, or list again and again; None for nothing.

    Java leaves out a name that it cannot read, and follows a link to a folder above it as far as
    the system lets it: each file would come in some forty times.

    Args:
        path: A folder, file or glob.
        folder: That of a glob before its wildcards, else the path.
        encoding: Of names, as Java reads them.
    """
    for inside, folders, names in _walk(folder):
        for name in [*folders, *names]:
            if not _readable(os.fsencode(name), encoding) and _is_read(inside, name, path, folder):
                where = os.fsencode(inside).decode("utf-8", "replace")
                return (
                    f"{where} has a file or folder named {os.fsencode(name)!r}, which Java cannot "
                    f"read as {encoding}: rename it, or run with LC_ALL=C.UTF-8"
                )
        for name in folders:
            link = Path(inside, name)
            is_loop = link.is_symlink() and _leads_back(link, Path(folder))
            if is_loop and _is_read(inside, name, path, folder):
                return (
                    f"{inside} has a link named {name!r} to a folder that it lies in, so its files"
                    " would be read many times: remove the link"
                )
    return None


def read_places(path: str) -> Iterator[str]:
    """The folders, files and globs that a path reads, without this machine's links.

    The first is the path's own; each link that lies there leads to another.

    Args:
        path: A folder, file or glob, absolute or a URI.
    """
    place = real(Place.of(path))
    yield place.shown
    if place.system != LOCAL:
        return
    pattern = place.path
    folder = pattern if os.path.lexists(pattern) else before_wildcards(pattern)
    for inside, folders, names in _walk(folder):
        for name in [*folders, *names]:
            link = Path(inside, name)
            if not link.is_symlink() or not _is_read(inside, name, pattern, folder):
                continue
            if name in folders and _leads_back(link, Path(folder)):
                folders.remove(name)
                continue
            # What a glob says of the names there; alternatives may have parts of their own.
            rest = [] if "{" in pattern else pattern.split("/")[len(link.parts) :]
            yield "/".join([os.path.realpath(link), *rest])


def each_once(
    landed: Iterable[Landed], known: Mapping[str, int], base: str, passes_links: bool
) -> tuple[list[Landed], set[str]]:
    """The files, each once though links give it more names than one; and names that links gave.

    Args:
        landed: By their names below the base.
        known: When each file that was read was written, in ms since 1970; -1 for unknown.
        base: The folder where names begin.
        passes_links: Whether the path may lead past links that lay on the way to what was read.
    """
    files = list(landed)
    real_folder = cache(os.path.realpath)

    def own_name(path: str) -> str:
        at = f"{real_folder(folder_of(path))}/{name_of(path)}"
        return os.path.relpath(os.path.realpath(at) if Path(at).is_symlink() else at, base)

    def was_read(name: str | None, file: Landed) -> bool:
        """Not where a link led elsewhere then: it has another time."""
        return name is not None and known.get(name) in (-1, file.time)

    known_at = {own_name(f"{base}/{name}"): name for name in known if passes_links}
    names = known.keys() | {file.name for file in files}
    linked: set[str] = set()
    taken: set[str] = set()
    kept = []
    # What was read goes first, under whatever name.
    for file in sorted(files, key=lambda file: file.name not in known):
        own = own_name(Place.of(file.path).path)
        is_named_elsewhere = own in taken or was_read(known_at.get(own), file)
        is_copy = is_named_elsewhere or (own != file.name and own in names)
        if file.name in known or not is_copy:
            kept.append(file)
            if file.name not in known or was_read(file.name, file):
                taken.add(own)
        if own != file.name:
            linked.add(file.name)
    return kept, linked


def _walk(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder with its folders and files, links followed; without what Spark passes over."""
    for inside, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not _hidden(name)]
        yield inside, folders, [name for name in names if not _hidden(name)]


def _is_read(inside: str, name: str, path: str, folder: str) -> bool:
    # Beside what a glob finds there may be anything.
    return folder == path or may_be_listed(str(Path(inside, name)), path)


def _hidden(name: str) -> bool:
    """Whether Spark passes over a file or folder of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _readable(name: bytes, encoding: str) -> bool:
    try:
        name.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _leads_back(link: Path, root: Path) -> bool:
    """Whether a link below `root` leads to a folder that one on the way to it is, or lies in."""
    above = [folder for folder in link.parents if folder.is_relative_to(root)]
    return any(folder.resolve().is_relative_to(link.resolve()) for folder in above)
