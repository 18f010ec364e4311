"""Differences between two versions of a model's table, in lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.base import available

from alluvium.names import bare
from alluvium.versions.diff_lines import lines
from alluvium.versions.points import Point
from dbt.adapters.alluvium import audit
from dbt.adapters.alluvium.verbs.versioning import Versioning


class Comparing(Versioning):
    @available.parse_list
    def diff(
        self,
        unique_id: str,
        before: Mapping[str, Any] | int,
        after: Mapping[str, Any] | int | None,
        limit: int,
    ) -> list[str]:
        """What differs between two versions of a model's table, as `git diff` shows it.

        Args:
            before, after: A version, or what `point_of` takes; None for the newest.
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
        point = {"version": given} if isinstance(given, int) else given
        return self.point_of(unique_id, point or {})


def key_of(node: Any, nodes: Mapping[str, Any]) -> Sequence[str]:
    """The columns that identify a row of a model; none where it does not say."""
    if audit.is_published(node):
        node = audit.candidate_of(node, nodes)
    key = node.config.get("unique_key") or ()
    return [bare(name) for name in ([key] if isinstance(key, str) else key)]
