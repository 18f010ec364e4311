"""Data tests that are kept: what one read when it last passed, beside what it would read now.

What is compared is the query as dbt sends it. So all that macros, vars and configs do to it is in
its text, and whoever's macro writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.version import __version__ as dbt_version
from dbt_common.clients.agate_helper import table_from_data_flat
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from alluvium import __version__
from alluvium.delta import reads
from alluvium.engine.causes import first_line
from alluvium.names import did_you_mean, in_catalog
from alluvium.plan import reuse
from alluvium.plan.reuse import Record
from dbt.adapters.alluvium import live, noting
from dbt.adapters.alluvium.figures import ModelResponse

if TYPE_CHECKING:
    import agate

    from dbt.adapters.alluvium.handle import SessionHandle

META = "alluvium_reuse"
_OF_TESTS = (META, "alluvium_tier")
_COLUMNS = ["failures", "should_warn", "should_error"]
_ERRORS = (PySparkException, Py4JError, ValueError)

_log = AdapterLogger("Alluvium")


def mistakes(nodes: Iterable[Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Every mistake in what asks for reuse.

    Args:
        nodes: the enabled ones, of all kinds.
        given: the vars.
    """
    if not isinstance(given.get(META, True), bool):
        yield f"var {META} is {given[META]!r}; accepted: true, false"
    for node in nodes:
        meta = getattr(node.config, "meta", None) or {}
        if node.resource_type != "test":
            if META in meta:
                yield (
                    f"{node.name}: meta.{META} is not known on a {node.resource_type};"
                    " accepted: on data tests, as `data_tests: {+meta: {…}}` in dbt_project.yml"
                )
            continue
        for key in meta:
            if str(key).startswith("alluvium_") and key not in _OF_TESTS:
                yield (
                    f"{node.name}: meta.{key} is not known on a test;"
                    f" accepted: {', '.join(_OF_TESTS)}{did_you_mean(key, _OF_TESTS)}"
                )
        if not isinstance(meta.get(META, True), bool):
            yield f"{node.name}: meta.{META} is {meta[META]!r}; accepted: true, false"


@dataclass(frozen=True)
class Kept:
    """What dbt is given in the place of a query's result."""

    response: ModelResponse
    table: agate.Table


@dataclass
class Asked:
    """A test that asks to be kept, while it runs.

    node: its unique id.
    path: of its note.
    why_not: why it is not kept, whatever it reads; None where it may be.
    is_noted: whether what it reads is noted.
    """

    node: str
    path: Path
    why_not: str | None
    is_noted: bool
    _settings: str = field(default="", init=False)

    def look(self, handle: SessionHandle, sql: str) -> Kept | str:
        """The result of a query that would read what it read before; or why it may not."""
        try:
            # What the query itself sets is not what it was asked under.
            self._settings = reuse.digest(reads.settings(handle.session))
            return self.why_not or self._look(handle, sql)
        except _ERRORS as error:
            return f"what it read cannot be looked at: {first_line(error)}"

    def _look(self, handle: SessionHandle, sql: str) -> Kept | str:
        session, record = handle.session, self._read()
        if record is None:
            return "nothing is noted of it"
        if handle.is_touched:
            return "a statement before it may have changed its session"
        views = {name: reads.view_now(session, name) for name in record.views}
        why = reuse.difference(
            record,
            sql=reuse.digest(sql),
            settings=self._settings,
            engine=_engine(handle),
            views=views,
        )
        if why is not None:
            return why
        pinned, tables = _pinned(handle, sql), {}
        for name, then in record.tables.items():
            version = pinned.get(_parts(name))
            why, tables[name] = reads.moved(session, name, then, version)
            if why is not None:
                return why
        if tables != record.tables:
            # Commits that keep rows: the next look needs not read them again.
            self._write(replace(record, tables=tables))
        names = handle.at_versions(sql)[1]
        versions = {name: str(handle.versions[name]) for name in names}
        response = ModelResponse("OK", versions=versions or None, kept_since=record.at)
        row = dict(zip(_COLUMNS, (record.failures, False, False), strict=True))
        return Kept(response, table_from_data_flat([row], _COLUMNS))

    def note(self, handle: SessionHandle, sql: str, table: agate.Table) -> str | None:
        """Note what a query read by which its test passed; why that cannot be kept, if so."""
        failures = _passed(table)
        if not self.is_noted or failures is None or handle.frame is None:
            return None
        if handle.is_touched:
            return "a statement before it may have changed its session"
        try:
            found = reads.of(handle.frame, sql)
            by_name = found.at_versions - {
                name for name in found.tables if _parts(name) in _pinned(handle, sql)
            }
        except _ERRORS as error:
            return f"what it reads cannot be noted: {first_line(error)}"
        if found.forbidden is not None:
            return found.forbidden
        if by_name:
            return f"it reads a version that it names, of {min(by_name)}"
        self._write(
            Record(
                sql=reuse.digest(sql),
                settings=self._settings,
                engine=_engine(handle),
                tables=found.tables,
                views=found.views,
                failures=failures,
                at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        )
        return None

    def _read(self) -> Record | None:
        try:
            return reuse.of_text(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _write(self, record: Record) -> None:
        noting.write(self.path, reuse.text(record, self.node))


def _passed(table: agate.Table) -> int | None:
    """The failures of a test that neither failed nor warned; None of another, or another query."""
    if [name.lower() for name in table.column_names] != _COLUMNS or len(table.rows) != 1:
        return None
    failures, *should = table.rows[0].values()
    is_whole = failures is not None and not isinstance(failures, str) and failures == int(failures)
    return int(failures) if is_whole and all(one is False for one in should) else None


def _engine(handle: SessionHandle) -> str:
    found = __version__, dbt_version, handle.session.version, metadata.version("delta-spark")
    return reuse.digest(found)


def _pinned(handle: SessionHandle, sql: str) -> dict[tuple[str, ...], int]:
    """By name, the versions of tables at which a query is sent, whatever is newest."""
    names = handle.at_versions(sql)[1]
    return {_parts(name): handle.versions[name].version for name in names}


def _parts(name: str) -> tuple[str, ...]:
    """Schema and name of a table, as SQL writes it."""
    found = live.PARTS.findall(name)
    return tuple(in_catalog(one.replace("``", "`") or plain) for one, plain in found)[-2:]
