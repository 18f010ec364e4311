"""What Delta lets no commit do to a table that has ids for its columns and tells its changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from alluvium.plan.versions.properties import MAPPING, PHYSICAL

_CHANGES = "delta.enableChangeDataFeed"
_Path = tuple[str, ...]


def tells_changes(properties: Mapping[str, str]) -> bool:
    """Whether a table has both: columns with ids, and a change data feed."""
    return properties.get(MAPPING, "none") != "none" and properties.get(_CHANGES) == "true"


def renames_or_drops(before: str, after: str) -> bool:
    """Whether a column of `before` has another name in `after`, or is not there.

    Both are schemas, JSON as Delta has it, of tables whose columns have ids. What is inside of
    structs, lists and maps counts too.
    """
    old, new = (dict(_fields(json.loads(one), (), ())) for one in (before, after))
    return any(new.get(physical) != named for physical, named in old.items())


def _fields(kind: Any, physical: _Path, named: _Path) -> Iterator[tuple[_Path, _Path]]:
    """Of each column, and of each inside it, both names."""
    if not isinstance(kind, dict):
        return
    for field in kind.get("fields", ()):
        own = field["metadata"].get(PHYSICAL, field["name"])
        both = (*physical, own), (*named, field["name"])
        yield both
        yield from _fields(field["type"], *both)
    for part in ("elementType", "keyType", "valueType"):
        yield from _fields(kind.get(part), (*physical, part), (*named, part))
