"""What `alluvium.paths.Place` says, for columns of absolute paths without `..`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from alluvium.paths import SYSTEM


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
