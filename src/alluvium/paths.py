"""Where files and folders lie: as Delta's log, a URI, Hadoop and this machine write it. Pure.

Delta's log and Spark's columns have URIs (`file:/a%20b`, `file:///a%20b`, `/a%20b`, or relative to
the table). Hadoop's `Path`, a listing and the metastore escape nothing (`file:/a b`). Either is
read here, whatever the file system. `delta.files.paths` does the same for columns of Spark.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

# The file system of this machine, which a path has that names none.
LOCAL = "file:"
# What comes before the path: with an authority, or with none.
SYSTEM = r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*|(?=/))"
_SYSTEM = re.compile(f"(?:{SYSTEM})?")
# What `java.net.URI` escapes: in ASCII, and blanks and controls beside it.
_SPECIAL = re.compile(
    r"[^A-Za-z0-9_\-!.~'()*:@&=+$,;/\u00a1-\U0010ffff]"
    r"|[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)


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
    def of(cls, text: str, folder: Place | None = None, *, system: str = LOCAL) -> Place:
        """Read a path in which nothing is escaped: a machine's, or one with its file system.

        Args:
            folder: where a relative path begins.
            system: the file system of an absolute path that names none.

        Raises:
            ValueError: the path is relative, and there is no folder.
        """
        named, path = _parts(text)
        if named:
            system = LOCAL if named.startswith(LOCAL) else named.removesuffix("//")
        elif not path.startswith("/"):
            if folder is None:
                raise ValueError(f"{text!r} is relative; accepted: an absolute path or URI")
            return folder / path
        return cls(system, _normal(path))

    @classmethod
    def of_uri(cls, uri: str, folder: Place | None = None) -> Place:
        """Read a URI, as logs have it; folder: of the table whose log it is.

        Raises:
            ValueError: the URI is relative, and there is no folder.
        """
        named, path = _parts(uri)
        if named or path.startswith("/"):
            return cls.of(f"{named}{unquote(path)}")
        return cls.of(uri) if folder is None else folder / unquote(path)

    def __str__(self) -> str:
        """As Hadoop writes it: `file:/a b`."""
        return f"{self.system}{self.path}"

    def __truediv__(self, inside: str) -> Place:
        """What lies there under a name or a relative path, nothing escaped."""
        return Place(self.system, _normal(f"{self.path}/{inside}"))

    @property
    def uri(self) -> str:
        """As Hadoop writes its URI: `file:/a%20b`."""
        return self.system + _SPECIAL.sub(lambda found: quote(found[0]), self.path)

    @property
    def shown(self) -> str:
        """As a person writes it: without the file system, if it is this machine's."""
        return self.path if self.system == LOCAL else str(self)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Place:
        """The folder that it lies in; that of a whole file system is its own."""
        return Place(self.system, self.path.rpartition("/")[0] or "/")

    @property
    def below(self) -> str:
        """What the paths of all that lies there begin with, as Hadoop writes them."""
        return f"{str(self).rstrip('/')}/"

    @property
    def steps(self) -> list[str]:
        """The names on its path."""
        return list(filter(None, self.path.split("/")))

    def way(self, folder: Place) -> str:
        """Its path from any folder of its file system, with `..` where it lies elsewhere."""
        return posixpath.relpath(self.path, folder.path)

    def inside(self, folder: Place) -> str | None:
        """Its path from a folder that it lies in or is; None where it lies elsewhere."""
        whole, start = self.below, folder.below
        return whole[len(start) : -1] if whole.startswith(start) else None


def folder_of(text: str) -> str:
    """The folder of a path or URI, as it is written."""
    return text.rpartition("/")[0]


def name_of(text: str) -> str:
    """The last name of a path or URI, as it is written."""
    return text.rpartition("/")[2]


def is_absolute(text: str) -> bool:
    """Whether a path or URI says where it begins."""
    return text.startswith("/") or _parts(text)[0] != ""


def _parts(text: str) -> tuple[str, str]:
    """The file system, empty where none is named, and the path."""
    named = _SYSTEM.match(text)
    assert named is not None  # of anything, an empty one
    return named[0], text[named.end() :]


def _normal(path: str) -> str:
    return posixpath.normpath(f"/{path.lstrip('/')}")
