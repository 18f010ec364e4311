"""Streaming tables: what is new at a source is appended; the settings of sources."""

from __future__ import annotations

from typing import Any, NamedTuple

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from alluvium.delta.log import arrivals
from alluvium.delta.refs.dependents import LOG
from alluvium.engine import metastore
from alluvium.engine.files import Files
from alluvium.ingest import Target
from alluvium.plan.graph import ancestors
from dbt.adapters.alluvium import layouts, streams, told
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Staged(NamedTuple):
    """The batch of a merged model in this command: it begins behind `after`, None for no batch.

    is_cut: whether bronze has more, which a bound leaves to the next run.
    readers: unique ids of the models that read it, of those that the merged one is made from.
    """

    bronze: str
    after: int
    newest: int | None
    is_cut: bool
    readers: set[str]


def name_of_bronze(bronze: BaseRelation | str) -> str:
    """A table of events as SQL names it, whatever a `ref` hides of it."""
    return bronze.stored.render() if isinstance(bronze, AlluviumRelation) else str(bronze)


class Streaming(SessionAdapter):
    # By the unique id of a merged model; threads set one entry each.
    _staged: dict[str, Staged]

    def begin_batches(self) -> None:
        """Forget the command before."""
        self._staged = {}

    @available.parse(lambda *a, **k: {})
    def append_stream(
        self,
        relation: AlluviumRelation,
        sql: str,
        full_refresh: bool = False,
        accepts_loss: bool = False,
        empty: bool = False,
        file_format: str = "delta",
        partition_by: str | list[str] | None = None,
        location_root: str | None = None,
        tblproperties: dict[str, Any] | None = None,
        layout: Any = None,
    ) -> dict[str, Any]:
        """Append what is new at the one stream that `sql` reads; returns the run's figures."""
        self._check_sampled(str(relation.identifier))
        session, name = self._handle.session, str(relation.identifier)
        columns = layouts.partition_columns(partition_by)
        known = layouts.layout_of(name, layout, partition_by)
        target = Target(
            name=relation.render(),
            checkpoint=streams.checkpoint_of(
                session, self._home, str(relation.schema), name, location_root
            ),
            file_format=file_format,
            partition_by=tuple(columns),
            location=None if location_root is None else f"{location_root.rstrip('/')}/{name}",
            tblproperties={str(k): str(v) for k, v in (tblproperties or {}).items()},
            bucket=layouts.generated(known, columns),
            sort_by=() if known is None else tuple(known.sort_by),
        )
        with self._working(), spark_errors(sql):
            figures = streams.append(
                session,
                sql,
                target,
                full_refresh=full_refresh,
                accepts_loss=accepts_loss,
                empty=empty,
            )
        return streams.as_dict(figures, name, empty)

    def calculate_freshness(
        self,
        source: BaseRelation,
        loaded_at_field: str,
        filter: str | None,
        macro_resolver: Any = None,
    ) -> Any:
        """dbt's own, which reads of a stream what tells how fresh it is.

        With a `filter` that may be any event.
        """
        if filter is None:
            with self._working("source freshness") as session:
                streams.provide(session, source.render(), newest=True)
        return super().calculate_freshness(source, loaded_at_field, filter, macro_resolver)

    def _check_sampled(self, name: str) -> None:
        """Raise where dbt has filtered what a streaming table reads, which never reads it again."""
        node, sources = told.node_now(), getattr(self._macro_resolver, "sources", {})
        if not getattr(get_flags(), "SAMPLE", None) or node is None:
            return
        parents = [self.nodes.get(one) or sources.get(one) for one in node.depends_on.nodes]
        filtered = [one.name for one in parents if one and getattr(one.config, "event_time", None)]
        if filtered:
            raise DbtRuntimeError(
                f"{name}: --sample filters {', '.join(filtered)} by event_time, and the stream"
                " would pass over the events that it leaves out; accepted: without --sample, or"
                f" {', '.join(filtered)} without event_time"
            )

    @available.parse_none
    def stream_response(self, figures: dict[str, Any]) -> AdapterResponse:
        return streams.StreamResponse.of(figures)

    @available.parse(lambda *_, **__: False)
    def once_had_batch(self, relation: BaseRelation, batch: int) -> bool:
        return streams.once_had_batch(self._handle.session, relation, batch)

    @available.parse_none
    def newest_batch(self, relation: BaseRelation | str) -> int | None:
        """The newest batch of a streaming table by its log; None where that takes a query."""
        if isinstance(relation, str) or relation.limit is not None or relation.event_time_filter:
            return None
        try:
            return arrivals.newest_batch(self._handle.session, relation.render())
        except (PySparkException, Py4JJavaError):
            return None  # a view, or no Delta table

    @available.parse_none
    def one_batch(
        self,
        merged: str,
        name: str,
        bronze: BaseRelation | str,
        after: int,
        newest: int | None,
        is_cut: bool,
        caller: str,
    ) -> int | None:
        """The newest batch of bronze that models of this command read for a merged one.

        Its progress is one number. So all that it is built from has to end with the same batch,
        whatever comes in between two models that read it. Another model, say one that counts what
        waits, follows them and sets no bound.

        Args:
            merged: unique id of the merged model; its name, for the message.
            bronze: the table whose numbers count, or SQL of it.
            after: the progress, -1 for none.
            newest: as the caller sees it, None for none.
            is_cut: whether that is less than bronze has.
            caller: unique id of the model that reads it.

        Raises:
            DbtRuntimeError: another model of this command reads another table for it.
        """
        bronze = name_of_bronze(bronze)
        if caller not in {merged, *ancestors(merged, self.node_of)}:
            known = self._staged.get(merged)
            is_same = known is not None and (known.bronze, known.after) == (bronze, after)
            return known.newest if known is not None and is_same else newest
        here = Staged(bronze, after, newest, is_cut, set())
        first = self._staged.setdefault(merged, here)
        if first.bronze != bronze:
            raise DbtRuntimeError(
                f"alluvium.new_events: {name} gets events of {first.bronze} and of {bronze}. Its"
                " progress is one number, so events of one of them would be passed over. Accepted:"
                " one table of events; `bronze=`, which names it where these are views on it; or a"
                " merged model for each"
            )
        if first.after != after:  # it was merged since
            self._staged[merged] = first = here
        first.readers.add(caller)
        return first.newest

    @available.parse_none
    def check_no_stream(self, relation: AlluviumRelation, sql: str) -> None:
        """Raise where the query of a view reads a stream."""
        streams.check_view(relation.render(), sql)

    @available.parse_none
    def check_delta(self, relation: AlluviumRelation) -> None:
        """Raise where what is there under a relation's name cannot be written as Delta."""
        with self._working() as session:
            found = metastore.table(session, str(relation.schema), str(relation.identifier))
            if found is None or found.is_view:
                return
            name = relation.render()
            if found.provider != "delta":
                raise DbtRuntimeError(
                    f"{name} is there as a table of format {found.provider}, and the model writes "
                    "Delta. Rename or drop that table, or turn it into Delta with "
                    f"`convert to delta {name}`, and run again"
                )
            if not Files(session).is_there(f"{found.location}/{LOG}"):
                raise DbtRuntimeError(
                    f"{name} is known, but its folder {found.location} holds no Delta table. Put "
                    f"the folder back, or run `drop table {name}` to build the table from nothing"
                )

    @available.parse_list
    def stream_mistakes(self, sources: list[dict[str, Any]]) -> list[str]:
        """Every mistake in `meta.alluvium_stream` of the graph's sources."""
        return streams.mistakes(sources)
