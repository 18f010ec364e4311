"""Where files and folders lie: as Delta's log, a URI, Hadoop and this machine write it. Pure.

Delta's log and Spark's columns have URIs (`file:/a%20b`, `file:///a%20b`, `/a%20b`, or relative to
the table). Hadoop's `Path`, a listing and the metastore escape nothing (`file:/a b`). Either is
read here, whatever the file system. `delta.files.paths` does the same for columns of Spark.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

# The file system of this machine, which a path has that names none.
LOCAL = "file:"
# What comes before the path: with an authority, or with none.
SYSTEM = r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*|(?=/))"
_PARTS = re.compile(f"({SYSTEM})?(.*)", re.DOTALL)
# What `java.net.URI` escapes, beside blanks and controls outside of ASCII.
_SPECIAL = re.compile(r"[^A-Za-z0-9_\-!.~'()*:@&=+$,;/]")
_ESCAPED_CATEGORIES = {"Zs", "Zl", "Zp", "Cc"}


@dataclass(frozen=True, order=True)
class Place:
    """Where a file or folder lies. Two ways to write the same place are equal.

    Attributes:
        system: its file system, as in `file:` and `s3a://bucket`.
        path: from there, absolute, nothing escaped, without `..` or a slash at the end.
    """

    system: str
    path: str

    @classmethod
    def of(cls, text: str, system: str = LOCAL) -> Place:
        """Read a path in which nothing is escaped: a machine's, or one with its file system.

        system: of a path that names none.

        Raises:
            ValueError: the path is relative.
        """
        named, path = _parts(text)
        if not named and not path.startswith("/"):
            raise ValueError(f"{text!r} is relative; accepted: an absolute path or URI")
        return cls(named or system, _normal(path))

    @classmethod
    def of_uri(cls, uri: str, folder: Place | None = None) -> Place:
        """Read a URI. folder: of the table whose log writes it; None where it is absolute.

        Raises:
            ValueError: the URI is relative, and there is no folder.
        """
        named, path = _parts(uri)
        if not named and folder is not None and not path.startswith("/"):
            return folder / unquote(path)
        return cls.of(f"{named}{unquote(path)}")

    @classmethod
    def folders(cls, uris: Iterable[str]) -> set[Place]:
        """The folders of files, by absolute URIs of these."""
        return {cls.of_uri(one) for one in {f"{uri.rpartition('/')[0]}/" for uri in uris}}

    def __str__(self) -> str:
        """As Hadoop writes it: `file:/a b`."""
        return f"{self.system}{self.path}"

    def __truediv__(self, inside: str) -> Place:
        """What lies there under a name or a relative path, nothing escaped."""
        return Place(self.system, _normal(f"{self.path}/{inside}"))

    @property
    def uri(self) -> str:
        """As Hadoop writes its URI: `file:/a%20b`."""
        return f"{self.system}{self.escaped}"

    @property
    def escaped(self) -> str:
        """`path` as a URI has it."""
        return _SPECIAL.sub(_escaped, self.path)

    @property
    def is_local(self) -> bool:
        return self.system == LOCAL

    @property
    def shown(self) -> str:
        """As a person writes it: without the file system, if it is this machine's."""
        return self.path if self.is_local else str(self)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Place:
        """The folder that it lies in; that of a whole file system is its own."""
        return Place(self.system, posixpath.dirname(self.path))

    @property
    def below(self) -> str:
        """What the paths of all that lies there begin with, as Hadoop writes them."""
        return f"{str(self).rstrip('/')}/"

    def inside(self, folder: Place) -> str | None:
        """Its path from a folder that it lies in or is; None where it lies elsewhere."""
        if self == folder:
            return ""
        whole, start = str(self), folder.below
        return whole[len(start) :] if whole.startswith(start) else None


def _parts(text: str) -> tuple[str, str]:
    """The file system, if there is one, and the path."""
    found = _PARTS.fullmatch(text)
    assert found is not None  # anything matches
    scheme, colon, authority = (found[1] or "").partition(":")
    # Of a scheme's default, and of this machine, there is one.
    is_named = authority != "//" and scheme.lower() != "file"
    return f"{scheme.lower()}{colon}{authority if is_named else ''}", found[2]


def _normal(path: str) -> str:
    return posixpath.normpath(f"/{path.lstrip('/')}")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character.isascii() or unicodedata.category(character) in _ESCAPED_CATEGORIES:
        return quote(character, safe="")
    return character
