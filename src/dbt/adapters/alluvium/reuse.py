"""Nodes that are kept: what one read when it last went well, beside what it would read now.

Of a data test the query is compared, as dbt sends it. So all that macros, vars and configs do to
it is in its text, and whoever's macro writes it. A table is made by more than its query: its whole
config is compared, and the text of all macros.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from pyspark.sql import DataFrame

from alluvium import __version__, schema
from alluvium.delta.log import own_commit, reads
from alluvium.engine.causes import first_line
from alluvium.names import did_you_mean, in_catalog
from alluvium.plan import reuse
from alluvium.plan.reuse import Record, TableState
from dbt.adapters.alluvium import live, noting
from dbt.adapters.alluvium.figures import ModelResponse, written_table

if TYPE_CHECKING:
    import agate

    from dbt.adapters.alluvium.handle import SessionHandle

META = "alluvium_reuse"
_OF_TESTS = (META, "alluvium_tier")
_COLUMNS = ["failures", "should_warn", "should_error"]
_ERRORS = (PySparkException, Py4JError, ValueError, OSError)
_TOUCHED = "a statement before it may have changed its session"
# Of a node: what its SQL and the macros tell already, what is of this command, and what only people
# and selections read.
_NOT_OF_A_TABLE = {
    *("access", "build_path", "checksum", "compiled", "compiled_code", "compiled_path"),
    *("config_call_dict", "created_at", "defer_relation", "depends_on", "doc_blocks", "docs"),
    *("extra_ctes", "extra_ctes_injected", "fqn", "functions", "group", "metrics"),
    *("original_file_path", "patch_path", "path", "raw_code", "refs", "root_path", "sources"),
    *("tags", "unrendered_config", "unrendered_config_call_dict"),
}
_NOT_OF_A_CONFIG = {"docs", "group", "tags"}
# How dbt finds, selects, tells and runs; what decides on the SQL of a node shows there.
_FLAGS_OF_NO_MATTER = (
    *("CACHE_", "DEBUG", "DEFER", "DEPRECATED_", "EMPTY", "EVENT_TIME", "EXCLUDE", "EXPORT_"),
    "FAIL_FAST",
    *("FAVOR_STATE", "FULL_REFRESH", "INCLUDE_", "INDIRECT_", "INLINE", "INVOCATION_", "LOG_"),
    *("MACRO_DEBUGGING", "MODELS", "PARTIAL_PARSE", "POPULATE_CACHE", "PRINT", "PROFILE"),
    *("PROJECT_DIR", "QUIET", "RECORD_", "RESOURCE_TYPE", "SAMPLE", "SELECT", "SEND_", "SHOW"),
    *("SINGLE_THREADED", "SKIP_NODES", "SOURCE_FRESHNESS", "STATE", "STORE_FAILURES", "TARGET"),
    *("THREADS", "UPLOAD_", "USE_COLORS", "USE_FAST_TEST_EDGES", "VARS", "VERSION_CHECK"),
    *("WARN_ERROR", "WHICH", "WRITE_JSON"),
)

_log = AdapterLogger("Alluvium")


def mistakes(nodes: Iterable[Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Every mistake in what asks for reuse.

    Args:
        nodes: the enabled ones, of all kinds.
        given: the vars.
    """
    flag = schema.settings()["var"][META]
    if META in given:
        yield from schema.mistakes(f"var {META}", given[META], flag)
    for node in nodes:
        kind, meta = node.resource_type, getattr(node.config, "meta", None) or {}
        if kind not in ("model", "seed", "test"):
            if META in meta:
                yield (
                    f"{node.name}: meta.{META} is not known on a {kind};"
                    " accepted: on models, seeds and data tests"
                )
            continue
        for key in meta:
            if kind == "test" and str(key).startswith("alluvium_") and key not in _OF_TESTS:
                yield (
                    f"{node.name}: meta.{key} is not known on a test;"
                    f" accepted: {', '.join(_OF_TESTS)}{did_you_mean(key, _OF_TESTS)}"
                )
        if META in meta:
            yield from schema.mistakes(f"{node.name}: meta.{META}", meta[META], flag)


def is_table(node: Any) -> bool:
    """Whether a node may be kept that is no test: the others are as if it were not asked."""
    made = node.config.materialized
    return bool(made == "seed" or (made == "table" and node.language == "sql"))


def of_table(node: Any, file: Path | None) -> dict[str, str]:
    """Digests of what a table is made by, apart from what it reads; by what they are.

    file: of a seed.
    """
    values = {k: v for k, v in node.to_dict().items() if k not in _NOT_OF_A_TABLE}
    config = {k: v for k, v in values["config"].items() if k not in _NOT_OF_A_CONFIG}
    found = {"its config": reuse.digest({**values, "config": config})}
    if file is None:
        return {"its SQL": reuse.digest(node.compiled_code), **found}
    with file.open("rb") as rows:
        return {"its file": hashlib.file_digest(rows, "sha256").hexdigest(), **found}


def of_macros(macros: Mapping[str, Any]) -> str:
    """The digest of the text of all macros, by their unique ids."""
    return reuse.digest({name: macro.macro_sql for name, macro in macros.items()})


def of_flags(flags: Mapping[str, Any]) -> str:
    """The digest of those of dbt's flags that may change what a macro does."""
    return reuse.digest(
        {
            name: value
            for name, value in flags.items()
            if name.isupper() and not name.startswith(_FLAGS_OF_NO_MATTER)
        }
    )


@dataclass(frozen=True)
class KeptAnswer:
    """What dbt is given in the place of a query's result."""

    response: ModelResponse
    table: agate.Table


@dataclass
class _AskedNode:
    """A node that asks to be kept, while it runs.

    node: its unique id.
    why_not: why it is not kept, whatever it reads; None where it may be.
    is_noted: whether what it reads is noted.
    """

    node: str
    why_not: str | None
    is_noted: bool
    _parts: dict[str, str] = field(default_factory=dict, init=False)

    def _tables(
        self, handle: SessionHandle, record: Record, pinned: Mapping[tuple[str, ...], int]
    ) -> Mapping[str, TableState] | str:
        """How the tables of a record stand now; why a run may read something else, if so."""
        session = handle.session
        views = {name: reads.view_now(session, name) for name in record.views}
        why = reuse.difference(record, self._parts, views)
        if why is not None:
            return why
        tables = {}
        for name, then in record.tables.items():
            why, tables[name] = reads.moved(session, name, then, pinned.get(_parts(name)))
            if why is not None:
                return why
        return tables

    def _record(
        self,
        handle: SessionHandle,
        frame: DataFrame,
        sql: str,
        pinned: Mapping[tuple[str, ...], int],
    ) -> Record | str:
        """What a statement read; why that says nothing of its next run, if so."""
        found = reads.of(frame, sql)
        if found.forbidden is not None:
            return found.forbidden
        by_name = found.at_versions - {name for name in found.tables if _parts(name) in pinned}
        if by_name:
            return f"it reads a version that it names, of {min(by_name)}"
        return Record(self._parts, found.tables, found.views, 0, _now())


@dataclass
class AskedTest(_AskedNode):
    """A data test; path: of its note."""

    path: Path

    def look(self, handle: SessionHandle, sql: str) -> KeptAnswer | str:
        """The result of a query that would read what it read before; or why it may not."""
        try:
            # What the query itself sets is not what it was asked under.
            self._parts = {"its SQL": reuse.digest(sql), **_around(handle)}
            return self.why_not or self._look(handle, sql)
        except _ERRORS as error:
            return f"what it read cannot be looked at: {first_line(error)}"

    def _look(self, handle: SessionHandle, sql: str) -> KeptAnswer | str:
        record = self._read()
        if record is None:
            return "nothing is noted of it"
        if handle.is_touched:
            return _TOUCHED
        tables = self._tables(handle, record, _pinned(handle, sql))
        if isinstance(tables, str):
            return tables
        if tables != record.tables:
            # Commits that keep rows: the next look needs not read them again.
            self._write(replace(record, tables=tables))
        names = handle.at_versions(sql)[1]
        versions = {name: str(handle.versions[name]) for name in names}
        response = ModelResponse("OK", versions=versions or None, kept_since=record.at)
        row = dict(zip(_COLUMNS, (record.failures, False, False), strict=True))
        return KeptAnswer(response, table_from_data_flat([row], _COLUMNS))

    def note(self, handle: SessionHandle, sql: str, table: agate.Table) -> str | None:
        """Note what a query read by which its test passed; why that cannot be kept, if so."""
        failures = _passed(table)
        if not self.is_noted or failures is None or handle.frame is None:
            return None
        if handle.is_touched:
            return _TOUCHED
        try:
            found = self._record(handle, handle.frame, sql, _pinned(handle, sql))
        except _ERRORS as error:
            return f"what it reads cannot be noted: {first_line(error)}"
        if isinstance(found, str):
            return found
        self._write(replace(found, failures=failures))
        return None

    def _read(self) -> Record | None:
        try:
            return reuse.of_text(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _write(self, record: Record) -> None:
        noting.write(self.path, reuse.text(record, self.node))


@dataclass
class AskedTable(_AskedNode):
    """A table or a seed.

    table: its name, as SQL writes it.
    made_by: gives `of_table`, and digests of macros and flags.
    """

    table: str
    made_by: Callable[[], dict[str, str]]
    is_seed: bool
    _made: set[int] = field(default_factory=set, init=False)
    _statements: list[tuple[DataFrame, str]] = field(default_factory=list, init=False)

    def look(self, handle: SessionHandle, is_there: bool) -> ModelResponse | str:
        """What dbt is told of a table that stays; or why it is built."""
        try:
            self._parts = {**self.made_by(), **_around(handle)}
            # What hooks did is not of the build.
            own_commit.begin(handle.session)
            self._made.clear()
            self._statements.clear()
            if self.why_not is not None:
                return self.why_not
            record = reads.noted(handle.session, self.table) if is_there else "it is not there"
            tables = record if isinstance(record, str) else self._tables(handle, record, {})
        except _ERRORS as error:
            return f"what it read cannot be looked at: {first_line(error)}"
        if isinstance(record, str) or isinstance(tables, str):
            return str(tables)
        # Hooks ask how many rows were written, and leave a table alone that has no new ones.
        return ModelResponse("OK kept", rows_affected=0, kept_since=record.at)

    def saw(self, handle: SessionHandle, sql: str | None = None) -> None:
        """Mark what the newest statement of its build was, and committed."""
        version = own_commit.version(handle.session)
        if version is not None:
            self._made.add(version)
        if sql is not None and handle.frame is not None and written_table(sql) == self.table:
            self._statements.append((handle.frame, sql))

    def note(self, handle: SessionHandle) -> str | None:
        """Note how the table was built, in its log; why that cannot be kept, if so."""
        if not self.is_noted:
            return None
        try:
            self.saw(handle)
            if {**self._parts, **_around(handle)} != self._parts:
                return "its own statement changed its session"
            found: Record | str = Record(self._parts, {}, {}, 0, _now())
            if not self.is_seed:
                if len(self._statements) != 1:
                    return "it is not built by one statement"
                found = self._record(handle, *self._statements[0], {})
            if isinstance(found, str):
                return found
            return reads.note(handle.session, self.table, found, self.node, self._made)
        except _ERRORS as error:
            return f"what it reads cannot be noted: {first_line(error)}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _around(handle: SessionHandle) -> dict[str, str]:
    """Digests of what every result hangs on beside its own text and rows."""
    engine = "a version of Alluvium, dbt, Spark, Delta or Java"
    versions = [metadata.version(name) for name in ("delta-spark", "agate")]
    return {
        "a Spark setting": reuse.digest(reads.settings(handle.session)),
        engine: reuse.digest([__version__, dbt_version, handle.session.version, *versions]),
    }


def _passed(table: agate.Table) -> int | None:
    """The failures of a test that neither failed nor warned; None of another, or another query."""
    if [name.lower() for name in table.column_names] != _COLUMNS or len(table.rows) != 1:
        return None
    failures, *should = table.rows[0].values()
    is_whole = failures is not None and not isinstance(failures, str) and failures == int(failures)
    return int(failures) if is_whole and all(one is False for one in should) else None


def _pinned(handle: SessionHandle, sql: str) -> dict[tuple[str, ...], int]:
    """By name, the versions of tables at which a query is sent, whatever is newest."""
    names = handle.at_versions(sql)[1]
    return {_parts(name): handle.versions[name].version for name in names}


def _parts(name: str) -> tuple[str, ...]:
    """Schema and name of a table, as SQL writes it."""
    found = live.PARTS.findall(name)
    return tuple(in_catalog(one.replace("``", "`") or plain) for one, plain in found)[-2:]
