"""What lies below a landing folder of this machine: links, and names that Java cannot read."""

from __future__ import annotations

import os
import posixpath
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
    for inside, found in _walk(path, folder):
        for one in found:
            name = os.fsencode(one.name)
            if not _readable(name, encoding) and _is_read(one, path, folder):
                where = os.fsencode(inside).decode("utf-8", "replace")
                return (
                    f"{where} has a file or folder named {name!r}, which Java cannot read as"
                    f" {encoding}: rename it, or run with LC_ALL=C.UTF-8"
                )
        for one in found:
            if _leads_back(one, folder) and _is_read(one, path, folder):
                return (
                    f"{inside} has a link named {one.name!r} to a folder that it lies in, so its"
                    " files would be read many times: remove the link"
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
    for _, found in _walk(pattern, folder):
        for one in found:
            is_way = one.is_symlink() and not _leads_back(one, folder)
            if is_way and _is_read(one, pattern, folder):
                # What a glob says of the names there; alternatives may have parts of their own.
                depth = len(Place.of(one.path).steps)
                rest = [] if "{" in pattern else place.steps[depth:]
                yield "/".join([os.path.realpath(one.path), *rest])


def each_once(
    landed: Iterable[Landed], known: Mapping[str, int], base: str
) -> tuple[list[Landed], set[str]]:
    """The files, each once though links give it more names than one; and names that links gave.

    Args:
        landed: By their names below the base.
        known: When each file that was read was written, in ms since 1970; -1 for unknown.
        base: The folder where names begin.
    """
    files = list(landed)

    @cache
    def way(folder: str) -> str:
        return os.path.relpath(os.path.realpath(folder), base)

    def own_name(path: str) -> str:
        if _is_link(path):
            return os.path.relpath(os.path.realpath(path), base)
        return posixpath.normpath(f"{way(folder_of(path))}/{name_of(path)}")

    def was_read(name: str | None, file: Landed) -> bool:
        """Not where a link led elsewhere then: it has another time."""
        return name is not None and known.get(name) in (-1, file.time)

    here = {file.name for file in files}
    names = known.keys() | here
    # The path may lead past links that lay on the way to what was read.
    known_at = {}
    if not here <= known.keys():
        known_at = {own_name(f"{base}/{name}"): name for name in known.keys() - here}
    linked: set[str] = set()
    taken: set[str] = set()
    read: set[str] = set()
    kept = []
    # What was read goes first, under whatever name.
    for file in sorted(files, key=lambda file: file.name not in known):
        own = own_name(Place.of(file.path).path)
        is_link = own != file.name
        is_copy = own in read or was_read(known_at.get(own), file)
        if file.name in known or not (is_copy or (is_link and (own in names or own in taken))):
            kept.append(file)
            taken.add(own)
            if was_read(file.name, file):
                read.add(own)
        if is_link:
            linked.add(file.name)
    return kept, linked


def _walk(
    path: str, root: str, folder: str | None = None
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Each folder that a path reads with what lies in it; without what Spark passes over.

    Links are followed, but for one to a folder that it lies in.
    """
    folder = root if folder is None else folder
    try:
        with os.scandir(folder) as entries:
            found = [one for one in entries if not _hidden(one.name)]
    except OSError:  # not there, or closed
        return
    yield folder, found
    for one in found:
        if _is_folder(one) and _is_read(one, path, root) and not _leads_back(one, root):
            yield from _walk(path, root, one.path)


def _is_folder(one: os.DirEntry[str]) -> bool:
    try:
        return one.is_dir()
    except OSError:  # links in a circle
        return False


def _is_link(path: str) -> bool:
    try:
        return Path(path).is_symlink()
    except OSError:  # in a folder that is closed
        return False


def _is_read(one: os.DirEntry[str], path: str, folder: str) -> bool:
    # Beside what a glob finds there may be anything.
    return folder == path or may_be_listed(one.path, path)


def _hidden(name: str) -> bool:
    """Whether Spark passes over a file or folder of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _readable(name: bytes, encoding: str) -> bool:
    try:
        name.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _leads_back(one: os.DirEntry[str], root: str) -> bool:
    """Whether it is a link to a folder that one on the way to it from `root` is, or lies in."""
    if not one.is_symlink() or not _is_folder(one):
        return False
    link = Path(one.path)
    to = link.resolve()
    above = [folder for folder in link.parents if folder.is_relative_to(root)]
    return any(folder.resolve().is_relative_to(to) for folder in above)
