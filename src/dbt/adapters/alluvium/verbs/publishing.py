"""Publishes: the versions that tests read, what they said, and the commit that readers see."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from alluvium.delta.log import log
from alluvium.delta.log import partial as parts
from alluvium.delta.log.log import TableVersion
from alluvium.plan import published_models
from alluvium.plan.graph import keeps_tombstones, name_of
from alluvium.publish import publish
from alluvium.publish.publish import Published
from alluvium.wording import counted
from dbt.adapters.alluvium import audit, selection
from dbt.adapters.alluvium.handle import mistakes
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.verbs.holding_back import HoldingBack, partial

_NAMED = 3


@dataclass
class PublishResponse(AdapterResponse):
    """What a published model shows; None before its first publish.

    published: version of the candidate.
    tests: of the audit, that passed.
    not_run: those of which this invocation saw nothing.
    """

    published: int | None = None
    tests: int | None = None
    not_run: int | None = None
    files_added: int | None = None
    files_removed: int | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, done: Published) -> PublishResponse:
        return cls(
            _message=f"OK version {done.source_version:,}",
            code="OK",
            published=done.source_version,
            files_added=done.files_added,
            files_removed=done.files_removed,
            seconds=round(done.seconds, 3),
        )


@dataclass(frozen=True)
class PublishDone:
    """What a published model's run did.

    is_published: whether it shows the version that was to be published.
    """

    response: PublishResponse
    line: str
    is_published: bool = False


def _refuse_others(existing: AlluviumRelation | None, target: str) -> None:
    """Nothing but a Delta table is published onto."""
    if existing is not None and (existing.is_view or not existing.is_delta):
        kind = "a view" if existing.is_view else "a table of another format"
        raise DbtRuntimeError(
            f"{target} is there as {kind}. Nothing was changed. Accepted: to rename or drop it,"
            " or another alias"
        )


class Publishing(HoldingBack):
    def begin_audit(self) -> None:
        """Forget what the command before saw."""
        before = selection.passed_before(self.config) if self.is_retry() else set()
        self._ledger = audit.AuditLedger(before=before)
        self.__dict__.pop("_candidates", None)

    def begin_test(self, node: Any) -> None:
        """Let a data test of a candidate read the version that is going to be published."""
        for one in set(node.depends_on.nodes) & self._candidates.keys():
            table = self._candidates[one]
            now = self._version(table)
            if now is not None:
                self._handle.versions[table] = self._ledger.versions.setdefault(one, now)

    def post_model_hook(self, config: Any, context: Any) -> None:
        """Note which version a candidate has now, or what a test said of one."""
        super().post_model_hook(config, context)
        # dbt passes the whole context of a test.
        whole: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
        node = whole["config"].model if whole else config.model
        # dbt calls this as an error passes, too.
        self.note_end(node, sys.exception())
        if node.unique_id in self._candidates:
            self.note_part(node)
            now = self._version(self._candidates[node.unique_id])
            if now is not None:
                self._ledger.versions[node.unique_id] = now
        elif node.resource_type == "test" and whole:
            audited = set(node.depends_on.nodes) & self._candidates.keys()
            found = whole["load_result"]("main") if audited else None
            row = None
            if found is not None:
                names = [name.lower() for name in found["table"].column_names]
                row = dict(zip(names, found["table"].rows[0], strict=True))
                read = found["response"].versions or {}
                for one in audited:
                    outcome = audit.Outcome(
                        audit.passed(node, row), read.get(self._candidates[one])
                    )
                    self._ledger.outcomes[node.unique_id, one] = outcome
            if row is None or not audit.passed(node, row):
                self.note_failure(node, audited, row)

    def _version(self, table: str) -> TableVersion | None:
        """The newest version of a table; None where there is none, which other statements tell."""
        try:
            return log.table_version(self._handle.session, table)
        except (PySparkException, Py4JError):
            return None

    def _check_built(self, table: str, whose: str = "") -> None:
        """Raises ValueError where a table is not there."""
        if self._version(table) is None:
            raise ValueError(
                f"{whose}there is no Delta table {table}; accepted: a model whose Delta table was"
                " built"
            )

    def _version_to_publish(self, candidate: Any) -> TableVersion:
        """A candidate's newest version; raises ValueError where there is none."""
        table = self._candidates[candidate.unique_id]
        now = self._version(table)
        if now is None:
            raise ValueError(
                f"there is no Delta table {table} to publish; accepted: to build"
                f" {name_of(candidate)} first"
            )
        return now

    @available.parse_none
    def publish(
        self,
        relation: AlluviumRelation,
        existing: AlluviumRelation | None,
        unique_id: str,
        sql: str,
    ) -> PublishDone:
        """Publish the version of the candidate that passed its audit, or say why not.

        Args:
            relation: The published table.
            existing: What is there under its name; None for nothing.
            unique_id: The published model's.
            sql: Its one select, as dbt compiled it.

        Raises:
            DbtRuntimeError: It cannot be published; nothing was changed.
        """
        node = self.nodes[unique_id]
        candidate = published_models.candidate_of(node, self.nodes)
        source, target = self._candidates[candidate.unique_id], relation.stored.render()
        _refuse_others(existing, target)
        settings = published_models.settings_of(node)
        tests = (
            published_models.tests_of(candidate, self.nodes)
            if settings.get("audit") != "none"
            else []
        )
        with self._working(name_of(node)):
            deferred = self._deferred(candidate, sql)
            if deferred is not None:
                return self._follow(node, candidate, deferred, target)
            now = self._version_to_publish(candidate)
            version = self._ledger.versions.get(candidate.unique_id, now)
            held = self._held(node, tests, candidate, version)
            accepted = ""
            if held is None:
                held, accepted = self._part(node, candidate, version)
            if held is not None:
                return self._not_published(node, candidate, source, target, held, accepted)
            done = self._publish(node, candidate, source, target, version, {"tests": len(tests)})
        response = replace(PublishResponse.of(done), tests=len(tests), not_run=0)
        line = done.line(name_of(node), name_of(candidate), len(tests))
        return PublishDone(response, line, is_published=not done.stays)

    @available.parse(lambda *a, **k: "")
    def publish_untested(
        self, unique_id: str, existing: AlluviumRelation | None, dry_run: bool
    ) -> str:
        """Publish the newest version of a candidate by hand; the line that says so.

        Args:
            unique_id: The published model's.
            existing: What is there under its name; None for nothing.
            dry_run: Whether nothing is done.

        Raises:
            DbtRuntimeError: It cannot be published; nothing was changed.
        """
        node = self.nodes[unique_id]
        self._may_publish(node, "alluvium.publish")
        candidate = published_models.candidate_of(node, self.nodes)
        source, target = self._candidates[candidate.unique_id], self.table_of(node)
        _refuse_others(existing, target)
        note = {"tests": 0, "untested": True}
        with self._working("alluvium.publish"):
            self._version_to_publish(candidate)
            done = self._publish(
                node, candidate, source, target, None, note, ends_hold=True, dry_run=dry_run
            )
        return done.line(name_of(node), name_of(candidate), tests=0)

    @available.parse(lambda *a, **k: "")
    def checkout(self, unique_id: str, version: int, hold: bool, dry_run: bool) -> str:
        """Make a published model show a version of its candidate; the line that says so.

        Args:
            unique_id: The published model's.
            version: Of the candidate.
            hold: Whether it stays there when later versions pass their tests.
            dry_run: Whether nothing is done.

        Raises:
            DbtRuntimeError: That version cannot be shown; nothing was changed.
        """
        node = self.nodes[unique_id]
        self._may_publish(node, "alluvium.checkout")
        candidate = published_models.candidate_of(node, self.nodes)
        with self._working("alluvium.checkout") as session:
            moved = publish.checkout(
                session,
                self.table_of(candidate),
                self.table_of(node),
                version,
                hold=hold,
                hides=keeps_tombstones(candidate),
            ).done(dry_run=dry_run)
        does = "would show" if dry_run else "shows"
        files = f"{counted(moved.files_added, 'file')} in, {moved.files_removed:,} out"
        then = (
            "builds leave it there until a checkout with hold: false"
            if hold
            else "the next build that passes its tests moves it"
        )
        return (
            f"{name_of(node)}: {does} version {version:,} of {name_of(candidate)}, {files}; {then}"
        )

    def _deferred(self, candidate: Any, sql: str) -> str | None:
        """The table that `--defer` reads in the place of a candidate's; None where it does not."""
        defer = getattr(candidate, "defer_relation", None)
        table = None if defer is None else self.table_of(defer)
        other = table is not None and table != self._candidates[candidate.unique_id]
        return table if other and audit.reads(sql, str(table)) else None

    def _follow(self, node: Any, candidate: Any, deferred: str, target: str) -> PublishDone:
        """Of a candidate of another target: show what that target's readers see, where nothing is
        shown yet; else stay."""
        why = f"--defer reads {deferred}, a table of another target, which is not published here"
        relation, session = getattr(node, "defer_relation", None), self._handle.session
        is_first = publish.head(session, target) is None
        if not is_first or relation is None or partial() is not None:
            return self._not_published(node, candidate, deferred, target, why)
        theirs = self.table_of(relation)
        with mistakes(f"{name_of(node)}: nothing is published yet, and {why}"):
            shown = publish.head(session, theirs)
            if shown is None:
                raise ValueError(f"{theirs} shows nothing yet either")
            done = self._publish(node, candidate, deferred, target, shown, {})
        shows = f"version {done.source_version:,} of {deferred}, as {theirs} does"
        line = f"{name_of(node)}: shows {shows}; {why}"
        return PublishDone(PublishResponse.of(done), line, is_published=not done.stays)

    def _publish(
        self,
        node: Any,
        candidate: Any,
        source: str,
        target: str,
        version: TableVersion | None,
        note: Mapping[str, Any],
        **how: bool,
    ) -> Published:
        """`publish.publish` of a candidate, as the commit is to note and show it."""
        return publish.publish(
            self._handle.session,
            source,
            target,
            None if version is None else version.version,
            {"candidate": candidate.unique_id, "invocation": get_invocation_id(), **note},
            audit.own_properties(node),
            hides=keeps_tombstones(candidate),
            table_id=None if version is None else version.table_id,
            description=audit.description(node),
            **how,
        )

    def _may_publish(self, node: Any, who: str) -> None:
        """Raises DbtRuntimeError where this target moves nothing that readers see."""
        if not published_models.may_publish(node, self.config.target_name):
            raise DbtRuntimeError(
                f"{who}: {name_of(node)}: {audit.elsewhere(node, self.config.target_name)}"
            )

    def _held(
        self, node: Any, tests: list[Any], candidate: Any, version: TableVersion
    ) -> str | None:
        """Why this invocation publishes nothing; None where it may."""
        flags = get_flags()
        if not published_models.may_publish(node, self.config.target_name):
            return audit.elsewhere(node, self.config.target_name)
        if flags.WHICH not in ("build", "retry"):
            return f"`dbt {flags.WHICH}` publishes nothing, `dbt build` does"
        if flag := partial():
            return f"{flag} publishes nothing"
        table = self._candidates[candidate.unique_id]
        before = audit.earlier(self._ledger.before, table, version)
        missing, failed, others = [], [], []
        for test in tests:
            outcome = self._ledger.outcomes.get((test.unique_id, candidate.unique_id))
            if outcome is None:
                if test.unique_id not in before:
                    missing.append(test.name)
            elif not outcome.passed:
                failed.append(test.name)
            elif outcome.version != str(version):
                others.append(test.name)
        other = (
            f"did not read version {version.version:,} of {name_of(candidate)} by `from` or `join`"
        )
        for names, what in ((failed, "failed"), (missing, "did not run"), (others, other)):
            if names:
                some = ", ".join(sorted(names)[:_NAMED]) + (", …" if len(names) > _NAMED else "")
                return f"{len(names)} of {len(tests)} tests {what} ({some})"
        return None

    def _part(self, node: Any, candidate: Any, version: TableVersion) -> tuple[str | None, str]:
        """Why a version is not all of a candidate, and what builds that; None where it is."""
        table = self._candidates[candidate.unique_id]
        part = parts.part_of(self._handle.session, table, version)
        if part is None:
            return None, ""
        made = f"{part.flag} made version {part.version:,} of {name_of(candidate)}"
        return f"{made} of a part of its rows", audit.makes_whole(node, candidate)

    def _not_published(
        self, node: Any, candidate: Any, source: str, target: str, why: str, accepted: str = ""
    ) -> PublishDone:
        settings = published_models.settings_of(node)
        head = publish.head(self._handle.session, target)
        says = f"{why}; accepted: {accepted}" if accepted else why
        # The tests of the candidate come with it.
        accepted = accepted or f"`dbt build -s {name_of(candidate)} {name_of(node)}`"
        if settings.get("require") and published_models.may_publish(node, self.config.target_name):
            raise DbtRuntimeError(
                f"{name_of(node)}: {why}, and meta.{published_models.META} says require: true;"
                f" accepted: {accepted}"
            )
        if head is None:
            if settings.get("before_first") != "empty" and partial() is None:
                raise DbtRuntimeError(
                    f"{name_of(node)}: nothing is published yet, and {why}; accepted: {accepted},"
                    f" or meta.{published_models.META}: {{before_first: empty}}"
                )
            publish.make_empty(self._handle.session, source, target)
            shows = "is empty"
        else:
            shows = f"still shows version {head.version:,} of {name_of(candidate)}"
        version = None if head is None else head.version
        response = PublishResponse(_message="OK not published", code="OK", published=version)
        return PublishDone(response, f"{name_of(node)}: {shows}: {says}")
