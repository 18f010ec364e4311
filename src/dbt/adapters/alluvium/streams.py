"""Sources that are streams: a name in SQL, and a temp view in each session that reads it.

`source()` renders such a source as the name of a view. A statement that mentions it gets a view
over what the source holds now; the `streaming_table` materialization reads it as a stream.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from alluvium import ingest as stream
from alluvium.delta.log import arrivals
from alluvium.ingest.spec import META
from alluvium.names import in_catalog, quoted
from alluvium.paths import Place
from dbt.adapters.alluvium import told
from dbt.adapters.alluvium.figures import ModelResponse
from dbt.adapters.alluvium.freshness import as_text, behind

_READERS = ("streaming_table", "table", "incremental", "snapshot", "ephemeral (read by these)")

# What Delta says of a new table whose folder holds something else.
_TAKEN = re.compile(r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION.*?location \('(.*?)'\)", re.DOTALL)

_guard = threading.Lock()
# A block with mistakes is listed with all others before a run, and raised if its stream is read.
_specs: dict[str, stream.StreamSpec | stream.SpecError] = {}
_project = Path()
_home = Path()


@dataclass
class StreamResponse(ModelResponse):
    """What a streaming table took in; `rows_affected` is the events appended.

    waiting: events that wait for `min_rows`.
    newest_arrival: time (UTC) of the newest event in the table, by its `_source_timestamp`.
    behind_seconds: how long ago that was.
    lag: offsets of Kafka that are not read, by `_source_partition`; None where nobody knows.
    open_transactions: where they begin, by the same.
    lost: offsets that were gone before they were read, by the same.
    made_again: topics that were made again and are read from their start.
    """

    source_files: int | None = None
    source_bytes: int | None = None
    batch_id: int | None = None
    waiting: int | None = None
    newest_arrival: str | None = None
    behind_seconds: float | None = None
    lag: dict[str, int] | None = None
    open_transactions: dict[str, int] | None = None
    lost: dict[str, int] | None = None
    made_again: list[str] | None = None

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> StreamResponse:
        return cls(
            _message=f"OK {figures['rows']:,} events",
            rows_affected=figures["rows"],
            files=figures["output_files"],
            seconds=round(figures["seconds"], 3),
            source_files=figures["files"],
            source_bytes=figures["bytes"],
            batch_id=figures["batch_id"],
            waiting=figures["waiting"],
            newest_arrival=figures["newest"],
            behind_seconds=behind(figures["newest"]),
            lag=figures["lag"],
            open_transactions=figures["transactions"] or None,
            lost=figures["lost"] or None,
            made_again=list(figures["again"]) or None,
        )


def locate(project: Path, home: Path) -> None:
    """Say where relative paths start and what `{home}` stands for, in this invocation."""
    global _project, _home
    _project, _home = project, home


def declare(source: Any) -> str | None:
    """The name of the view that stands for a source with `meta.alluvium_stream`; None without."""
    block = _block(source)
    view = view_of(source.package_name, source.source_name, source.name)
    if block is None:
        _specs.pop(view, None)
        return None
    spec: stream.StreamSpec | stream.SpecError
    try:
        spec = stream.parse_spec(f"{source.source_name}.{source.name}", block)
    except stream.SpecError as error:
        spec = error
    with _guard:
        _specs[view] = spec
    return view


def declared(source: Any) -> str | None:
    """The name of the view of a source that was declared, for what has the source's names only."""
    view = view_of(source.package_name, source.source_name, source.name)
    return view if view in _specs else None


def view_of(package: str, source: str, table: str) -> str:
    """The name of a source's view: two packages may each have a source of one name."""
    return f"{package}__{source}__{table}"


def mistakes(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every mistake in the streams of the graph's sources, before anything runs."""
    found, views = [], dict[str, str]()
    for source in sources:
        meta = (source.get("config") or {}).get("meta") or {}
        name = f"{source['source_name']}.{source['name']}"
        if META not in meta:
            continue
        view = view_of(source["package_name"], source["source_name"], source["name"])
        if (other := views.setdefault(view.lower(), name)) != name:
            found.append(
                f"source {name}: its view is {view}, as that of {other}; accepted: other names"
            )
        try:
            stream.parse_spec(name, meta[META])
        except stream.SpecError as error:
            found += [f"source {name}: {mistake}" for mistake in error.mistakes]
    return found


def feed_of(node: Any) -> stream.Feed | None:
    """The stream of files that a node of the graph describes; None for none, or a wrong one."""
    block = _block(node) if node.resource_type == "source" else None
    if block is None:
        return None
    try:
        spec = stream.parse_spec(f"{node.source_name}.{node.name}", block)
        return None if spec.path is None else spec.resolve(_project, _home)
    except stream.SpecError:
        return None  # it is told where mistakes are listed, or where the stream is read


def is_declared(source: Any) -> bool:
    """Whether a source is a stream."""
    return _block(source) is not None


def provide(session: SparkSession, sql: str, *, newest: bool = False) -> None:
    """Give the session a view of every stream that a statement mentions, once.

    newest: what tells how fresh they are is enough.
    """
    register = stream.register_newest_view if newest else stream.register_batch_view
    for view in _mentioned(sql):
        # Asked of the session: a second connection of the same node has views of its own.
        if not session.catalog.tableExists(quoted(view)):
            with told.refusals(stream.SpecError):
                register(session, _feed(view), view)


def checkpoint_of(
    session: SparkSession, home: Path, schema: str, name: str, location_root: str | None
) -> str:
    """Folder of a streaming table's checkpoint."""
    warehouse = str(session.conf.get("spark.sql.warehouse.dir"))
    if location_root is not None:
        root = f"{location_root.rstrip('/')}/_checkpoints"
    elif Place.of(warehouse) == Place.of(str(home / "warehouse")):
        root = str(home / "checkpoints")
    else:
        # Tables of a shared warehouse are not this machine's alone, nor are their checkpoints.
        root = f"{warehouse.rstrip('/')}/_checkpoints"
    # The name as the catalog keeps it, in whatever case the model writes it.
    return f"{root}/{in_catalog(f'{schema}.{name}')}"


def append(
    session: SparkSession,
    sql: str,
    target: stream.Target,
    *,
    full_refresh: bool,
    accepts_loss: bool,
    empty: bool,
) -> stream.StreamFigures:
    """Run a streaming table's query over the one stream that it reads."""
    views = _mentioned(sql)
    if len(views) != 1:
        named = ", ".join(_specs[view].source for view in views) or f"no source() with meta.{META}"
        raise DbtRuntimeError(
            f"{target.name}: reads {named}; accepted: exactly one source() that has meta.{META}"
        )
    try:
        with told.refusals(stream.SpecError):
            feed = _feed(views[0])
            if empty:
                stream.create_empty(session, feed, sql, views[0], target)
                return stream.StreamFigures()
            return stream.append(
                session,
                feed,
                sql,
                views[0],
                target,
                full_refresh=full_refresh,
                accepts_loss=accepts_loss,
            )
    except stream.StreamError as error:
        raise DbtRuntimeError(told.placed(str(error), error.__cause__, sql)) from error
    except PySparkException as error:
        taken = _TAKEN.search(str(error))
        if taken is None:
            raise
        raise DbtRuntimeError(
            f"{target.name} cannot be made: its folder {taken[1]} holds files that are not a "
            "Delta table, of a run that was killed or of somebody else; accepted: a folder that is "
            "empty or not there. Look what they are before you move or delete them"
        ) from error


def check_view(name: str, sql: str) -> None:
    """Raise where the query of a view reads a stream, which only a running session knows."""
    views = _mentioned(sql)
    if views:
        raise DbtRuntimeError(
            f"{name}: a view cannot read the stream {_specs[views[0]].source}, for it is asked "
            f"after the run. What reads a source() with meta.{META} is materialized as "
            f"{', '.join(_READERS)}"
        )


def once_had_batch(session: SparkSession, relation: Any, batch: int) -> bool:
    """Whether a table's own log proves that its stream came as far as this batch."""
    if not _has_log(relation):
        return False
    try:
        return stream.highest_batch(session, relation.render()) >= batch
    except PySparkException:
        return False  # no Delta table: it has no history


def had_batch(session: SparkSession, relation: Any, batch: int) -> bool:
    """Whether a table's own log has this batch of its stream, be its rows there or gone."""
    if not _has_log(relation):
        return False
    try:
        return arrivals.had_batch(session, relation.render(), batch)
    except (PySparkException, Py4JJavaError):
        return False


def _has_log(relation: Any) -> bool:
    return not isinstance(relation, str) and not (
        relation.is_view or relation.render().startswith("(")
    )


def as_dict(figures: stream.StreamFigures, model: str, empty: bool) -> dict[str, Any]:
    """Figures for macros, with the line for the console."""
    line = f"{model}: its source was not read (--empty)" if empty else figures.line(model)
    return {**asdict(figures), "newest": as_text(figures.newest), "line": line}


def _block(source: Any) -> Any:
    config = getattr(source, "config", None)
    meta = getattr(config, "meta", None) or getattr(source, "meta", None) or {}
    return meta.get(META)


def _mentioned(sql: str) -> list[str]:
    with _guard:
        return [view for view in _specs if quoted(view) in sql]


def _feed(view: str) -> stream.Feed:
    spec = _specs[view]
    if isinstance(spec, stream.SpecError):
        raise spec
    stream.check_schema(spec)
    return spec.resolve(_project, _home)
