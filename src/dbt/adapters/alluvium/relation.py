"""Relations of the adapter."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.contracts.relation import ComponentName, HasQuoting, RelationConfig
from dbt.adapters.spark.relation import SparkRelation
from dbt.contracts.graph.nodes import SourceDefinition, UnitTestSourceDefinition

from alluvium.names import in_catalog, quoted
from alluvium.plan.graph import keeps_tombstones
from dbt.adapters.alluvium import live, streams

# A column that SQL finds as it is written: a name, a field of a struct, or one in backticks.
_PLAIN = re.compile(r"\w+(\.\w+)*|.*`.*", re.ASCII | re.DOTALL)


@dataclass(frozen=True, eq=False, repr=False)
class AlluviumRelation(SparkRelation):
    """A table or view of the session's catalog.

    live_only: written into SQL, the relation leaves out tombstones. Only `ref` makes such
        relations, of models whose merge keeps deleted rows; `render()` is always the plain name.
    """

    live_only: bool = False

    def __post_init__(self) -> None:
        # A database that repeats the schema says nothing new, in whatever case it is written.
        names = self.database, self.schema
        if not all(names) or in_catalog(str(names[0])) != in_catalog(str(names[1])):
            super().__post_init__()

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # dbt would take names in two cases for two tables; quoted or not, Spark has one.
        own = self.path.get_part(field)
        return own is not None and in_catalog(own) == in_catalog(value)

    @classmethod
    def create_from(
        cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any
    ) -> AlluviumRelation:
        # dbt resolves `ref` with a limit (None, mostly) and `this` without: so they are told apart.
        if "limit" in kwargs and keeps_tombstones(relation_config):
            kwargs["live_only"] = True
        relation: AlluviumRelation = super().create_from(quoting, relation_config, **kwargs)  # type: ignore[assignment]
        view = None
        if isinstance(relation_config, SourceDefinition):
            view = streams.declare(relation_config)
        elif isinstance(relation_config, UnitTestSourceDefinition):
            # What stands for a source in a unit test has the source's columns.
            view = streams.declared(relation_config)
        if view is None:
            return relation
        relation = relation.incorporate(path={"identifier": view})
        return relation.include(database=False, schema=False).quote(identifier=True)

    @property
    def stored(self) -> AlluviumRelation:
        """The table itself, as statements about it need it: no filter, no limit."""
        return replace(self, live_only=False, limit=None, event_time_filter=None)

    def __str__(self) -> str:
        if not self.live_only:
            return super().__str__()
        return self.as_rows(live.subquery(self.render()))

    def as_rows(self, rendered: str) -> str:
        """A relation in SQL in this one's place, under its limit and its filter by time."""
        if self.limit is not None:
            rendered = f"(select * from {rendered} limit {self.limit})"
        return self.render_event_time_filtered(rendered)

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        """dbt's filter of an input, with typed instants: to a date or a text, dbt's are others."""
        name = event_time_filter.field_name
        if not _PLAIN.fullmatch(name):
            name = quoted(name)
        bounds = ((">=", event_time_filter.start), ("<", event_time_filter.end))
        return " and ".join(f"{name} {sign} timestamp'{at}'" for sign, at in bounds if at)
