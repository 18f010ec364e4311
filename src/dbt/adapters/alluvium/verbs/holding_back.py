"""Candidates that failed their audit: what is noted as a test fails, and told behind the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from dbt.adapters.base import available
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from alluvium.delta.log import partial as parts
from alluvium.delta.log.log import TableVersion
from alluvium.delta.log.snapshots import TableSnapshot
from alluvium.plan import published_models
from alluvium.plan.graph import is_in_files, name_of
from alluvium.plan.status.table import FailedAudit
from alluvium.plan.versions.batches import shown_since
from dbt.adapters.alluvium import audit, held_back, noting, told
from dbt.adapters.alluvium.held_back import HeldBack, PublishedHead
from dbt.adapters.alluvium.verbs.base import SessionAdapter


def partial() -> str | None:
    """The flag by which this command builds tables with a part of their rows; None for none."""
    flags = get_flags()
    if getattr(flags, "EMPTY", False):
        return "--empty"
    return "--sample" if getattr(flags, "SAMPLE", None) else None


class HoldingBack(SessionAdapter):
    # Each command has one of its own.
    _ledger = audit.AuditLedger()

    @cached_property
    def _candidates(self) -> dict[str, str]:
        """By unique id, the tables of those nodes that published models show."""
        return {
            one.unique_id: self.table_of(one) for _, one in published_models.candidates(self.nodes)
        }

    def begin_part(self, candidate: Any) -> None:
        """Note how a candidate is before it is built with a part of its rows, if it is."""
        if partial() is None:
            return
        was = parts.Before()
        with suppress(PySparkException, Py4JError):  # there is none yet
            was = parts.before(self._handle.session, self._candidates[candidate.unique_id])
        # The batches of a microbatch are one build.
        self._ledger.begun.setdefault(candidate.unique_id, was)

    def note_part(self, candidate: Any) -> None:
        """Note in a candidate's log that it was built with a part of its rows, if it was."""
        flag, was = partial(), self._ledger.begun.get(candidate.unique_id)
        if flag is not None and was is not None:
            with suppress(PySparkException, Py4JError):  # there is still none
                table = self._candidates[candidate.unique_id]
                parts.note(self._handle.session, table, was, flag)

    @available.parse_list
    def shown_by(self, unique_id: str) -> list[str]:
        """Unique ids of the published models that show a node."""
        shown = published_models.candidates(self.nodes)
        return [one.unique_id for one, candidate in shown if candidate.unique_id == unique_id]

    def note_failure(
        self, test: Any, candidates: Iterable[str], row: Mapping[str, Any] | None
    ) -> None:
        """Note that a test of candidates failed.

        row: dbt's three columns of its query; None where that failed itself.
        """
        if get_flags().WHICH not in ("build", "retry") or partial():
            return
        how = "its query failed" if row is None else self._how(test, row["failures"])
        for one in candidates:
            held = self._ledger.held.get(one) or self._held_back(one)
            if held is not None:
                held = self._ledger.held.setdefault(one, held)
                held.audit.failed[test.name] = how
                # Other threads may note more meanwhile.
                found = replace(held.audit, failed=dict(held.audit.failed))
                node = held.candidate
                noting.held_back(self._home, f"{node.schema}.{node.alias}", found)

    def note_end(self, node: Any, error: object) -> None:
        """Note how a node ended that keeps a table in files."""
        if is_in_files(node):
            handle, name = self._handle, f"{node.schema}.{node.alias}"
            noting.ended(handle.session, self._home, self.table_of(node), name, error)

    def _how(self, test: Any, failures: Any) -> str:
        if not held_back.compares_with_readers(test):
            return held_back.figures(test, failures)
        sql = f"select * from (\n{test.compiled_code}\n) limit 1"
        try:
            row = self.execute(sql, fetch=True)[1].rows[0].dict()
        except DbtRuntimeError:  # the test's own query went well, and its result stays
            row = None
        return held_back.figures(test, failures, row)

    def _held_back(self, unique_id: str) -> HeldBack | None:
        """What readers of a candidate see now; None where this target moves none of it."""
        version = self._ledger.versions.get(unique_id)
        target = self.config.target_name
        shows = [
            node
            for node, of in published_models.candidates(self.nodes)
            if of.unique_id == unique_id and published_models.may_publish(node, target)
        ]
        if version is None or not shows:
            return None
        candidate = self.nodes[unique_id]
        tests = published_models.tests_of(candidate, self.nodes)
        shown = [one for node in shows if (one := self._shown(node, version)) is not None]
        return HeldBack(
            candidate, FailedAudit(version.table_id, version.version, len(tests), {}), shown
        )

    def _shown(self, node: Any, tested: TableVersion) -> PublishedHead | None:
        """What readers see of a published model; None where that cannot be told."""
        table, session = self.table_of(node), self._handle.session
        try:
            if not session.catalog.tableExists(table):
                return PublishedHead(name_of(node))
            now = TableSnapshot.of(session, table)
            head = now.head
            if head is None:
                return PublishedHead(name_of(node))
            since = shown_since(now.commits())
        except (PySparkException, Py4JError):
            return None
        return PublishedHead(name_of(node), head.version, since, head.table_id == tested.table_id)

    def tell_held_back(self) -> None:
        """Tell what was held back, behind the run."""
        held, self._ledger.held = self._ledger.held, {}
        for one in sorted(held):
            for line in held[one].lines(datetime.now(UTC)):
                told.say(line)
