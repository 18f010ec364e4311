"""Queries that a log is asked, and the fragments that can hold their rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from alluvium.names import quoted
from alluvium.plan.ranges.literal import typed_literal
from alluvium.ranges import canonical_texts
from compacting import events

RANKS = (1, 2, 5, 10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Query:
    """All rows whose columns lie between, both ends included.

    bounds: by column, its Spark type and the ends, as pyarrow makes them of Python's values.
    """

    kind: str
    bounds: Mapping[str, tuple[str, Any, Any]]

    def sql(self) -> str:
        parts = []
        for column, (kind, *ends) in self.bounds.items():
            arrow = pa.timestamp("us", tz="UTC") if kind == "timestamp" else None
            texts = canonical_texts(pa.array(ends, arrow))
            lo, hi = (typed_literal(text, kind) for text in texts)
            name = quoted(column)
            parts.append(f"{name} = {lo}" if lo == hi else f"{name} between {lo} and {hi}")
        return " and ".join(parts)


def mix(files: int) -> list[Query]:
    """The fixed mix of `events`: services of eight ranks, each asked in three ways.

    files: that were written; the window is the eighth of their time before the middle.
    """
    names = events.service_names()
    middle = events.START + files * events.FILE_TIME // 2
    window = ("timestamp", middle - files * events.FILE_TIME // 8, middle)
    found = []
    for place, rank in enumerate(RANKS):
        service = {"service": ("string", names[rank - 1], names[rank - 1])}
        status = (200, 500)[place % 2]
        env = events.ENVS[place % 2]
        found += [
            Query("service", service),
            Query("service + status", service | {"status": ("int", status, status)}),
            Query(
                "service + env + window",
                service | {"env": ("string", env, env), "logged_at": window},
            ),
        ]
    return found


def fewest(rows: int, rows_per_fragment: int) -> int:
    """Whole fragments that can hold so many rows, at least."""
    return math.ceil(rows / rows_per_fragment)
