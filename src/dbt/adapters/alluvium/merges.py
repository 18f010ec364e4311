"""Plans of one merge: what it asks of its table, of its batch and of the package's macros."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from dbt.adapters.base import BaseRelation
from dbt.events.types import JinjaLogWarning
from dbt_common.events.functions import warn_or_error
from dbt_common.exceptions import CompilationError
from pyspark.sql import DataFrame, SparkSession

from alluvium.merge import progress, ranges
from alluvium.plan.merge import batch
from alluvium.plan.merge.figures import BatchFigures
from alluvium.plan.merge.outline import Outline
from alluvium.plan.merge.profile import BatchProfile
from alluvium.plan.ranges.errors import UnfitError
from alluvium.plan.ranges.row import RangeRow
from dbt.adapters.alluvium import named, told
from dbt.adapters.alluvium.relation import AlluviumRelation

T = TypeVar("T")
# Of a table: its id, and the numbers of its `txn` actions by application.
State = tuple[str, Mapping[str, int]]


class Inherited(NamedTuple):
    """The numbers of a table's `txn` actions as a model goes on with them.

    former: the model whose place it takes there; None for none.
    """

    numbers: Mapping[str, int]
    former: str | None


@dataclass(frozen=True)
class StoredTable:
    """One look at a merged table; the macro `_stored_table` says what is what.

    numbers: of its `txn` actions, by application.
    """

    id: str
    numbers: Mapping[str, int]
    columns: Sequence[Any]
    partitions: Sequence[str]
    made: Mapping[str, bool]
    padded: Sequence[str]
    limits: Mapping[str, int]


@dataclass(frozen=True)
class BatchLook:
    """SQL that looks at a batch, as the macro `_merge_look` says."""

    profile: str
    deletes: str | None
    gaps: str | None
    lacked: str | None


@dataclass(frozen=True)
class Texts:
    """SQL of a merge, as the macro `_merge_texts` says."""

    predicate: str | None
    prune: str | None
    statement: str
    verify: str | None
    marked: str | None
    rejected: Sequence[str]
    rejected_table: str
    ranges: Sequence[RangeRow]
    newest_event: str | None


@dataclass(frozen=True)
class MergePlan:
    """One try of a merge, on table and batch as they are.

    name: the shortest text that means this model and no other.
    pending: whether there is anything to merge.
    table_id, numbers: of the table that was looked at.
    former: as `Inherited` has it.
    """

    name: str
    outline: Outline
    profile: BatchProfile
    texts: Texts
    figures: BatchFigures
    pending: bool
    table_id: str
    numbers: Mapping[str, int]
    former: str | None


class MergeAdapter(Protocol):
    """What a plan asks of the adapter."""

    @property
    def session(self) -> SparkSession:
        """That of the node that runs."""

    def texts(self, macro: str, **arguments: Any) -> dict[str, Any]:
        """What a macro of the package gives that only writes SQL."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    def kept(self, source: str) -> DataFrame:
        """The rows of a batch."""

    def inherited(self, table: str, state: State, model_id: str) -> Inherited:
        """A table's state as a model goes on with it."""

    def is_small(self, source: str) -> bool:
        """Whether one task should read a batch."""

    def is_merged(self, source: str, progress: int) -> bool:
        """Whether no event of a batch is newer, as far as that shows without reading them."""

    def look_at(self, table: str) -> StoredTable:
        """What a merge asks of its table, of one version."""

    def get_columns_in_relation(self, relation: AlluviumRelation) -> list[Any]:
        """The columns of a relation."""

    def condition_mistakes(self, setting: str, sql: str, relation: str) -> list[str]:
        """What is wrong with a condition on the rows of a relation."""

    def predicate_mistakes(
        self, predicates: list[str], source: str, target: BaseRelation | None
    ) -> list[str]:
        """What is wrong with a merge's own conditions."""


@dataclass(frozen=True)
class Planner:
    """Plans tries of the merge of `source` into `relation`, each time on both as they are then."""

    _adapter: MergeAdapter
    _relation: AlluviumRelation
    _source: AlluviumRelation
    _node: Mapping[str, Any]
    _predicates: str | Sequence[str] | None
    _is_new: bool

    def plan(self, keep: Callable[[], None] | None = None) -> MergePlan:
        """Runs queries, changes nothing; raises where the batch cannot be merged.

        keep: called before the batch is read, which happens unless it is known to be merged.
        """
        adapter, source = self._adapter, self._source.render()
        table = adapter.look_at(self._relation.render())
        found = adapter.texts(
            "_merge_outline",
            node=self._node,
            relation=self._relation,
            table=table,
            selected=adapter.get_columns_in_relation(self._source),
        )
        name = found.pop("name")
        outline = Outline.read(found)
        self._refuse_settings(outline)
        for warning in outline.warnings:
            _warn(warning)
        model = self._node["unique_id"]
        state = adapter.inherited(self._relation.render(), (table.id, table.numbers), model)
        through = None if self._is_new else progress.of_model(table.id, state.numbers, model)
        merged = -1 if through is None else through
        if adapter.is_merged(source, merged):
            return self._none_new(name, outline, table.id, state)
        if keep is not None:
            keep()
        planned = [] if outline.several else self._planned_ranges(outline)
        combined = self._planned_predicate(outline) if outline.several else None
        bounded = [row for row in planned if row.get("lo") is not None]
        look = self._look(outline, bounded)
        profile = BatchProfile.read(adapter.rows(look.profile))
        if profile.tied and look.deletes:
            # The newest events of a key tie, and only some of them delete it: their content says
            # which one wins.
            profile = replace(profile, deletes=int(adapter.rows(look.deletes)[0][0]))
        mistake = batch.batch_mistake(outline.settings, profile, merged)
        if mistake:
            raise CompilationError(f"{self._node['name']}: {mistake}")
        blurred = batch.order_warning(outline, profile)
        if blurred:
            _warn(f"{self._node['name']}: {blurred}")
        kept = self._kept_columns(outline, look) if profile.incomplete else None
        choice = batch.range_choice(outline.settings, profile, planned, self._is_new)
        if planned and choice == "min_max":
            _warn(f"{name}: {batch.outside_warning(outline.settings, profile)}")
        profile = _with_null_keys(outline, profile)
        texts = self._texts(
            outline,
            profile,
            ranges=self._rows(choice, bounded, profile, look),
            written_by=choice if choice in ("gaps", "min_max") else None,
            combined=combined,
            kept=kept,
        )
        figures = self._figures(outline, profile, texts, combined)
        if figures.rejected and not figures.events:
            _warn(f"{name}: {batch.rejected_warning(figures.rejected, texts.rejected_table)}")
        pending = batch.is_pending(profile, merged)
        return MergePlan(name, outline, profile, texts, figures, pending, table.id, *state)

    def _none_new(self, name: str, outline: Outline, table_id: str, state: Inherited) -> MergePlan:
        profile = BatchProfile()
        texts = self._texts(outline, profile, ranges=[])
        figures = self._figures(outline, profile, texts, None)
        return MergePlan(name, outline, profile, texts, figures, False, table_id, *state)

    def _texts(self, outline: Outline, profile: BatchProfile, **found: Any) -> Texts:
        return Texts(
            **self._adapter.texts(
                "_merge_texts",
                node=self._node,
                relation=self._relation,
                source=self._source.render(),
                outline=outline,
                profile=profile.as_mapping(),
                predicates=self._predicates,
                **found,
            )
        )

    def _look(self, outline: Outline, ranges: Sequence[RangeRow]) -> BatchLook:
        source = self._source.render()
        return BatchLook(
            **self._adapter.texts(
                "_merge_look",
                source=source,
                outline=outline,
                ranges=ranges,
                is_small=self._adapter.is_small(source),
            )
        )

    def _refuse_settings(self, outline: Outline) -> None:
        settings, source = outline.settings, self._source.render()
        mistakes = list(outline.mistakes)
        if settings.delete_when is not None:
            mistakes += self._adapter.condition_mistakes(
                "delete_when", settings.delete_when, source
            )
        predicates = named.predicates(self._node["config"])
        mistakes += self._adapter.predicate_mistakes(predicates, source, self._relation)
        self._refuse(mistakes)

    def _refuse(self, mistakes: Sequence[str]) -> None:
        if mistakes:
            lines = "\n  - ".join(mistakes)
            raise CompilationError(f"{self._node['name']} cannot be merged:\n  - {lines}")

    def _kept_columns(self, outline: Outline, look: BatchLook) -> Sequence[str]:
        """The columns that events lack."""
        lacked = json.loads(self._adapter.rows(str(look.lacked))[0][0])
        found = self._adapter.texts("_kept_columns", outline=outline, lacked=lacked)
        self._refuse(found["mistakes"])
        return list(found["columns"])

    def _planned_ranges(self, outline: Outline) -> Sequence[RangeRow]:
        """Rows of ranges that the session plans. They are those of the ranges model, priced on the
        table as it is now. Where there is no such model they are planned here."""
        wanted, request = outline.settings.ranges, outline.request
        if wanted is None or request is None:
            return []
        if not wanted.model:
            # The profile has bounds, SQL has gaps; and a new table has nothing to leave unread.
            if self._is_new or wanted.method in ("min_max", "gaps"):
                return []
            return self._on_batch(ranges.plan_batch, request, [])
        if outline.range_rows is None:
            return []
        found: list[RangeRow] = json.loads(self._adapter.rows(outline.range_rows)[0][0] or "[]")
        column = wanted.column.lower()
        usable = [
            row
            for row in found
            if row["column_name"].lower() == column and row["column_type"] == outline.types[column]
        ]
        return ranges.reprice(self._adapter.session, usable, request)

    def _planned_predicate(self, outline: Outline) -> Mapping[str, Any]:
        """The cheapest predicate on several columns."""
        nothing = {"sql": "true", "ranges": 0, "method": "none"}
        request = outline.request
        if self._is_new or request is None or not request["columns"]:
            return nothing
        return self._on_batch(ranges.plan_columns, request, nothing)

    def _on_batch(
        self,
        plan: Callable[[SparkSession, Callable[[], DataFrame], Mapping[str, Any]], T],
        request: Mapping[str, Any],
        nothing: T,
    ) -> T:
        """What `plan` finds for the batch, or `nothing` where it cannot have ranges."""
        source = self._source.render()
        try:
            return plan(self._adapter.session, lambda: self._adapter.kept(source), request)
        except UnfitError as error:
            told.warn(f"{error}. The merge goes on without ranges.")
            return nothing

    def _rows(
        self,
        choice: str,
        planned: Sequence[RangeRow],
        profile: BatchProfile,
        look: BatchLook,
    ) -> Sequence[RangeRow] | Sequence[Mapping[str, Any]]:
        """What `_merge_texts` takes: rows of ranges, or bounds that it has to make rows of."""
        if choice == "planned":
            return planned
        if choice == "min_max":
            return [profile.bounds]
        if choice == "gaps" and look.gaps is not None:
            return json.loads(self._adapter.rows(look.gaps)[0][0] or "[]")  # type: ignore[no-any-return]
        return []

    def _figures(
        self,
        outline: Outline,
        profile: BatchProfile,
        texts: Texts,
        combined: Mapping[str, Any] | None,
    ) -> BatchFigures:
        settings = outline.settings
        method = texts.ranges[0].get("method") if texts.ranges else "none"
        rejected_keys = profile.null_keys if settings.null_keys == "reject" else 0
        return BatchFigures(
            model=self._node["unique_id"],
            through=profile.through,
            events=profile.events,
            key_count=profile.key_count,
            deletes=profile.deletes,
            newest_event=texts.newest_event,
            on_match=settings.on_match,
            method=combined["method"] if combined is not None else method,
            ranges=combined["ranges"] if combined is not None else len(texts.ranges),
            rejected=profile.rejects + rejected_keys,
        )


def _with_null_keys(outline: Outline, profile: BatchProfile) -> BatchProfile:
    """The profile of what is merged: events without a key too, where they are inserted."""
    if outline.settings.null_keys != "insert":
        return profile
    return replace(
        profile,
        events=profile.events + profile.null_keys,
        key_count=profile.key_count + profile.null_keys,
    )


def _warn(line: str) -> None:
    """As `exceptions.warn` of macros does it: `--warn-error` makes an error of it."""
    warn_or_error(JinjaLogWarning(msg=line))
