"""What a look found as JSON; docs/status.schema.json describes it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from alluvium.status.look import Look
from alluvium.status.project import Project


def as_json(found: Look, project: Project) -> dict[str, Any]:
    """A look as values of JSON; times in UTC, durations in seconds."""
    feeds = [
        {
            **asdict(one),
            "problems": list(one.problems),
            "state": one.state,
            "line": one.line(found.at),
        }
        for one in found.feeds
    ]
    values = {
        "at": found.at,
        "home": str(project.home),
        "stale": found.stale,
        "is_wrong": found.is_wrong,
        "feeds": feeds,
        "due": [asdict(one) for one in found.due],
    }
    written: dict[str, Any] = _plain(values)
    return written


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds")
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
