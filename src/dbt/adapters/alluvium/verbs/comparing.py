"""Differences between two versions of a model's table, in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import available

from alluvium.versions.diff_lines import lines
from alluvium.versions.points import Point
from dbt.adapters.alluvium.verbs.branching import Branching, key_of


class Comparing(Branching):
    @available.parse_list
    def diff(
        self,
        unique_id: str,
        before: Mapping[str, Any] | int | None,
        after: Mapping[str, Any] | int | None,
        limit: int,
    ) -> list[str]:
        """What differs between two versions of a model's table, as `git diff` shows it.

        Args:
            before, after: A version, what `point_of` takes, or `branch`, for the newest there; None
                for the newest.
            limit: The most rows that are shown.

        Raises:
            DbtRuntimeError: There is no such version, or none that can be read.
        """
        node = self.nodes[unique_id]
        with self._working("alluvium.diff") as session:
            old, new = self._point(unique_id, before), self._point(unique_id, after)
            key = key_of(node, self.nodes)
            return list(lines(session, node.name, old, new, key, limit))

    def _point(self, unique_id: str, given: Mapping[str, Any] | int | None) -> Point:
        point = dict(given) if isinstance(given, Mapping) else {"version": given}
        name = point.pop("branch", None)
        if name is None:
            return self.point_of(unique_id, point)
        if point:
            raise ValueError(f"branch and {', '.join(point)} are given; accepted: one of them")
        return Point(self._there_on(self._branch(name), self.nodes[unique_id]))
