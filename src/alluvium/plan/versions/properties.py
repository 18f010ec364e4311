"""Which properties of a table go along when its files are published."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# The properties that are known, in lists. `carried` say how the files are to be read: they come
# with the files. `own` say how a table is written or kept: each table has its own. With `refused` a
# published table cannot keep its promise, for what they ask for. Those of ids of rows stay where
# the tracking of rows is turned off, and no UNSET takes them away.
_LISTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CARRIED = frozenset(_LISTS["carried"])
CARRIED_PREFIXES = ("delta.constraints.", "delta.feature.")
OWN = frozenset(_LISTS["own"])
REFUSED: Mapping[str, str] = {
    name: asks_for for asks_for, names in _LISTS["refused"].items() for name in names
}
_ROW_IDS = REFUSED["delta.enableRowTracking"]
MAPPING = "delta.columnMapping.mode"
# The name that a column has in files and in the log, in its metadata.
PHYSICAL = "delta.columnMapping.physicalName"
LARGEST_ID = "delta.columnMapping.maxColumnId"
# Of an identity, in the metadata of its column: how far its numbers lie apart, and its last one.
IDENTITY, _LAST = "delta.identity.step", "delta.identity.highWaterMark"
_VECTORS = "delta.enableDeletionVectors"


def carried(name: str) -> bool:
    """Whether a property comes with the files."""
    return name in CARRIED or name.startswith(CARRIED_PREFIXES)


def mistakes(
    source: Mapping[str, str], published: Mapping[str, str] | None, table: str
) -> Iterator[str]:
    """What stops a table with the properties `source` from being published.

    Args:
        published: properties of the published table; None where it is to be made.
        table: the name of the first one, for statements that mend it.

    Yields:
        One sentence for each reason that another statement mends.
    """
    said = set[str]()
    for name in sorted(source):
        if name in REFUSED and source[name].lower() not in ("false", ""):
            why = f"its property {name} is {source[name]}, which asks for {REFUSED[name]}"
        elif _unknown(name):
            why = f"nothing is known of its property {name}, so it could be lost"
        else:
            continue
        mends = f"alter table {table} unset tblproperties ('{name}')"
        if REFUSED.get(name) == _ROW_IDS:
            mends = f"alter table {table} drop feature rowTracking"
        if mends not in said:
            said.add(mends)
            yield f"{why}; accepted: to take that away by `{mends}`"
    if published is not None:
        before, now = (props.get(MAPPING, "none") for props in (published, source))
        if before != now:
            yield (
                f"its property {MAPPING} went from {before} to {now}, and its new files would be"
                " read by other names than the old ones"
            )


def own_mistakes(own: Mapping[str, str]) -> Iterator[str]:
    """What a published table may not have by its own config; one sentence for each property."""
    for name in sorted(own):
        if carried(name):
            yield f"tblproperties: {name} comes with the files; accepted: it on the candidate"
        elif name in REFUSED and own[name].lower() not in ("false", ""):
            yield f"tblproperties: {name} is {own[name]}, which asks for {REFUSED[name]}"


def _unknown(name: str) -> bool:
    # What does not begin so is the user's own, and of no use to a reader of files.
    return name.startswith("delta.") and not (carried(name) or name in OWN or name in REFUSED)


def published(source: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The properties of a published table: the source's that are carried, and its own."""
    kept = {name: value for name, value in own.items() if not carried(name)}
    taken = {name: value for name, value in source.items() if carried(name)}
    # Files come with vectors and go again.
    kept.pop("delta.appendOnly", None)
    return {**kept, **taken, "delta.enableDeletionVectors": "true"}


def restored(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """The properties of a table that goes back to an earlier version. They are those of then, but
    for what says how it is written or kept. The ids of columns stay too: they are never given
    twice."""
    found = {name: value for name, value in then.items() if name not in OWN}
    found |= {name: value for name, value in now.items() if name in OWN}
    ids = [int(one[LARGEST_ID]) for one in (then, now) if LARGEST_ID in one]
    if ids and LARGEST_ID in found:
        found[LARGEST_ID] = str(max(ids))
    # Files of then may have vectors.
    if "true" in (one.get(_VECTORS) for one in (then, now)):
        found[_VECTORS] = "true"
    return found


def identities_on(then: str, now: str) -> str:
    """The schema of then, JSON as Delta has it, whose identities go on behind their numbers of now.

    So none is given twice: rows that are undone may stand in other tables.
    """
    last = {field["name"]: field["metadata"].get(_LAST) for field in json.loads(now)["fields"]}
    found = json.loads(then)
    for field in found["fields"]:
        says, newest = field["metadata"], last.get(field["name"])
        if IDENTITY in says and newest is not None:
            furthest = max if says[IDENTITY] > 0 else min
            says[_LAST] = furthest(newest, says.get(_LAST, newest))
    if found == json.loads(now):
        return now
    if found == json.loads(then):
        return then
    return _as_delta(found)


def schema(source: str, own: str) -> str:
    """The source's schema, JSON as Delta has it, with the comments of the published table."""
    before = json.loads(own)
    said = {field["name"]: field["metadata"].get("comment") for field in before["fields"]}
    found = json.loads(source)
    for field in found["fields"]:
        field["metadata"].pop("comment", None)
        if said.get(field["name"]) is not None:
            field["metadata"]["comment"] = said[field["name"]]
    if found == before:
        return own
    return _as_delta(found)


def _as_delta(schema: dict[str, Any]) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
