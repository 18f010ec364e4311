"""What `Place` says, for columns of absolute paths without `..`; where a vector's file lies."""

from __future__ import annotations

from base64 import b85decode
from uuid import UUID

from pyspark.sql import Column
from pyspark.sql import functions as F

from alluvium.paths import SYSTEM, Place

# The digits of Z85, by which logs write the name of a vector's file, as those of `b85decode`.
_DIGITS = bytes.maketrans(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
)
_UUID = 20  # digits


def vector_file(kind: str | None, place: str, root: Place) -> Place | None:
    """The file of a deletion vector; None without one, or where the log itself holds it.

    Written as Delta's protocol says, "Deletion Vector Format".

    Args:
        kind: its `storageType`.
        place: its `pathOrInlineDv`.
        root: the folder of the table whose log it is.
    """
    if kind == "u":
        name = UUID(bytes=b85decode(place[-_UUID:].encode().translate(_DIGITS)))
        return root / f"{place[:-_UUID]}/deletion_vector_{name}.bin"
    return Place.of_uri(place) if kind == "p" else None


def is_absolute(uri: Column) -> Column:
    """Whether a URI of the log lies where it says, whichever table's it is."""
    return F.rlike(uri, F.lit(f"^(/|{SYSTEM})"))


def plain(uri: Column) -> Column:
    """A place as text, `str(Place.of_uri(uri))`."""
    named = F.regexp_replace(_decoded(uri), "^/+", "file:/")
    return F.regexp_replace(named, "^([^:/]+:)//+(?=/)", "$1")


def folder(uri: Column) -> Column:
    """The place that a file lies in, with a slash at the end."""
    return plain(F.regexp_replace(uri, "[^/]*$", ""))


def path(uri: Column) -> Column:
    """A place's path, `Place.of_uri(uri).path`.

    It is asked for each of a million lines: the common forms are only cut.
    """

    def behind(start: str) -> Column:
        # In bytes, for characters are counted from the first one on.
        part = F.substring(uri.cast("binary"), F.lit(len(start)), F.octet_length(uri))
        return part.cast("string")

    other = F.regexp_replace(_decoded(uri), f"^{SYSTEM}", "")
    return (
        F.when(uri.contains("%"), other)
        .when(uri.startswith("file:///"), behind("file:///"))
        .when(uri.startswith("file:/") & ~uri.startswith("file://"), behind("file:/"))
        .otherwise(other)
    )


def _decoded(uri: Column) -> Column:
    # A plus is a plus.
    return F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))
