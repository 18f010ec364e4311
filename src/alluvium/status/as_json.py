"""What a look found as JSON; docs/status.schema.json describes it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from alluvium.plan.status.model import Whole
from alluvium.status.look import Look
from alluvium.status.project import Project


def as_json(found: Look, project: Project, whole: Whole | None) -> dict[str, Any]:
    """A look as values of JSON; times in UTC, durations in seconds.

    whole: the table of the model that was asked for; None where none was.
    """
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
        "model": None if whole is None else _of_model(whole),
    }
    written: dict[str, Any] = _plain(values)
    return written


def _of_model(whole: Whole) -> dict[str, Any]:
    past = whole.past
    return {
        **{name: getattr(whole, name) for name in ("name", "place", "problems", "version")},
        **{name: getattr(whole, name) for name in ("rows", "files", "bytes", "indexed")},
        "sizes": [
            {"name": name, "files": files, "bytes": size}
            for name, (files, size) in whole.sizes.items()
        ],
        "buckets": None if whole.buckets is None else asdict(whole.buckets),
        "pointers": [
            {"version": version, "names": names} for version, names in whole.pointers.items()
        ],
        "commits": [
            {"version": one.version, "line": "  ".join(one.parts), "message": one.message}
            for one in past.commits
        ],
        "older_versions": past.older,
        "batches": [asdict(one) for one in past.batches],
        "writes": {**asdict(past.writes), "amplification": past.writes.amplification},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds")
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
