"""What the adapter notes of builds for those who look without Spark: texts, and what they say.

A note holds neither settings of stores nor secrets: places, ids, versions, names and figures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from alluvium.plan.status.table import FailedAudit, NodeNote

# In the home: a file for each table.
FOLDER = "status"
# In dbt's target path.
BUILD = "alluvium.json"


@dataclass(frozen=True)
class Build:
    """What is noted of a target.

    Attributes:
        home: of its tables; relative to the project's folder where it lies in that.
        target: the name of the profile's target.
        schema: that it builds into.
        slos: seconds that events of a tier may wait, by its name.
    """

    home: str | None = None
    target: str | None = None
    schema: str | None = None
    slos: Mapping[str, float] = field(default_factory=dict)


def file_name(table: str) -> str:
    """Of the note of a table; table: schema, dot and name."""
    return f"{hashlib.sha256(table.lower().encode()).hexdigest()[:32]}.json"


def text(noted: NodeNote | Build, table: str | None = None) -> str:
    """A note as it is written; table: for people who open the file."""
    found = {"table": table} if table is not None else {}
    values = found | asdict(noted)
    if isinstance(noted, NodeNote):
        values["at"] = noted.at.astimezone(UTC).isoformat(timespec="seconds")
    return json.dumps(values, indent=1)


def of_node(text: str | None) -> NodeNote | None:
    """What the note of a node says; None where there is none, or it cannot be read."""
    try:
        found = _mapping(text)
        held = found.get("held_back")
        return NodeNote(
            place=found["place"],
            table_id=found["table_id"],
            at=datetime.fromisoformat(found["at"]),
            outcome=str(found["outcome"]),
            held_back=None if held is None else FailedAudit(**held),
        )
    except (ValueError, KeyError, TypeError):
        return None


def of_build(text: str | None) -> Build:
    """What the note of a target says; empty where there is none, or it cannot be read."""
    try:
        found = _mapping(text)
        slos = {str(name): float(one) for name, one in found["slos"].items()}
        return Build(found["home"], found["target"], found["schema"], slos)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Build()


def _mapping(text: str | None) -> dict[str, Any]:
    found = json.loads(text or "null")
    if not isinstance(found, dict):
        raise ValueError("not a note")
    return found
