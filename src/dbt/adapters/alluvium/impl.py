"""The adapter: dbt-spark's, with the session's Python models and the library's verbs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.base import BaseRelation, available
from dbt.adapters.base.impl import log_code_execution
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig, RelationType
from dbt.adapters.spark.impl import SparkAdapter
from dbt.flags import get_flags
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from alluvium import schema as schema_of_settings
from alluvium.delta import log
from alluvium.engine import pools
from alluvium.engine.session import as_text
from alluvium.merge import batch, one_commit, progress, ranges
from alluvium.merge import execute as merge
from alluvium.merge.conflicts import retry
from alluvium.names import among, bare, in_catalog, literal, quoted
from alluvium.plan.ranges import UnfitError
from alluvium.windows.window import Window
from dbt.adapters.alluvium import (
    catalog,
    freshness,
    layouts,
    lost_tables,
    named,
    nested,
    python_models,
    seeds,
    selection,
    settings,
    storage,
    streams,
    suggestions,
    told,
    windows,
)
from dbt.adapters.alluvium.column import AlluviumColumn, columns, has_bounds
from dbt.adapters.alluvium.connections import AlluviumConnectionManager
from dbt.adapters.alluvium.figures import Figures, MergeResponse, written
from dbt.adapters.alluvium.relation import AlluviumRelation, keeps_tombstones
from dbt.adapters.alluvium.session import SessionHandle, spark_errors
from dbt.adapters.alluvium.statements import limited, statements

if TYPE_CHECKING:
    import agate

T = TypeVar("T")

_VECTORS = "delta.enableDeletionVectors"
_HOOK_OF_THE_PACKAGE = "operation.alluvium.alluvium-on-run-start-0"
_STAGED_KEY = re.compile(r"dbt_unique_key(_\d+)?", re.IGNORECASE)


class AlluviumAdapter(SparkAdapter):
    Relation = AlluviumRelation  # type: ignore[assignment]
    Column = AlluviumColumn  # type: ignore[assignment]
    ConnectionManager = AlluviumConnectionManager  # type: ignore[assignment]
    _capabilities = CapabilityDict(
        {
            **SparkAdapter._capabilities,
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full),
        }
    )

    @property
    def _handle(self) -> SessionHandle:
        """The session of the node that this thread runs."""
        return self.connections.get_thread_connection().handle

    @property
    def _has_own_metastore(self) -> bool:
        """Whether the metastore is the home's, which can be lost without its tables."""
        return AlluviumConnectionManager.settings(self.config.credentials).embedded_metastore

    # Whose error it is ---------------------------------------------------------------------

    def node_of(self, unique_id: str | None) -> Any:
        """A node of the project; None if there is none of this id."""
        return getattr(self._macro_resolver, "nodes", {}).get(unique_id)

    def root_of(self, package: str) -> Path | None:
        """The folder of the project or of one of its packages."""
        folder = self.config.load_dependencies().get(package)
        return folder and Path(folder.project_root)

    @contextmanager
    def connection_named(
        self, name: str, query_header_context: Any = None, should_release_connection: bool = True
    ) -> Iterator[None]:
        connection = super().connection_named(name, query_header_context, should_release_connection)
        with told.running(query_header_context), connection:
            yield

    def debug_query(self) -> None:
        self.execute("select 1 as id")

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """The tables and views of a schema; SHOW TABLE EXTENDED, dbt-spark's, asks for each."""
        schema = in_catalog(str(schema_relation.schema))
        with spark_errors():
            found = catalog.tables(self._handle.session, schema)
            if self._register_lost_tables(schema, {in_catalog(table.name) for table in found}):
                found = catalog.tables(self._handle.session, schema)
        return [
            self.Relation.create(
                schema=schema,
                identifier=table.name,
                type=RelationType.View if table.is_view else RelationType.Table,
                is_delta=table.provider == "delta",
                is_hudi=table.provider == "hudi",
                is_iceberg=table.provider == "iceberg",
            )
            for table in found
        ]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        return in_catalog(schema) in map(in_catalog, self.list_schemas(database))

    def _register_lost_tables(self, schema: str, known: set[str]) -> bool:
        """Register the project's own tables again where an embedded metastore was lost."""
        nodes = getattr(self._macro_resolver, "nodes", {}).values()
        missing = lost_tables.missing(schema, known, nodes)
        session = self._handle.session
        if not missing or not self._has_own_metastore:
            return False
        if not session.catalog.databaseExists(quoted(schema)):
            return False
        home = Path(self.config.credentials.home)
        registered = list(lost_tables.register_own(session, home, known, missing))
        for sentence in registered:
            told.warn(sentence)
        return bool(registered)

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge", "insert_overwrite", "microbatch"]

    def _get_columns_for_catalog(self, relation: BaseRelation) -> list[dict[str, Any]]:
        """The columns of a relation; none, with a warning, where Spark cannot tell them.

        A schema may hold tables of other people. One without its folder must not cost the others.
        """
        try:
            with spark_errors():
                # First: of a folder that is gone it tells the path, the table's types do not.
                rows = self._handle.session.sql(f"describe extended {relation.render()}").collect()
            found = self.get_columns_in_relation(relation)
        except DbtDatabaseError as error:
            reason = str(error.msg).splitlines()[0]
            told.warn(f"{relation.render()} is left out of the catalog: {reason}")
            return []
        return catalog.columns(relation, found, [tuple(row) for row in rows])

    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """One relation's part of catalog.json; None if it does not exist."""
        found = self.get_relation("", str(relation.schema), str(relation.identifier))
        columns = self._get_columns_for_catalog(found) if found else []
        if found is None or not columns:
            return None
        return CatalogTable(
            metadata=TableMetadata(
                type=str(found.type),
                schema=str(found.schema),
                name=str(found.identifier),
                owner=columns[0].get("table_owner"),
                comment=columns[0].get("table_comment"),
            ),
            columns={
                column["column_name"]: ColumnMetadata(
                    type=column["column_type"],
                    index=column["column_index"],
                    name=column["column_name"],
                    comment=column.get("column_comment"),
                )
                for column in columns
            },
            stats={},
        )

    def pre_model_hook(self, config: Any) -> None:
        """Make Delta the format of a node that names none, and let it evolve if it may.

        dbt-spark's materializations read `file_format` and take its absence for parquet: a table
        would be dropped before it is rebuilt, a snapshot refused. Its MERGE fails on a column that
        the batch no longer has, whatever `on_schema_change` says, unless Delta may evolve; the
        setting ends with the node's session. Lists are what they go through, so a text becomes one.
        A table whose buckets are made from a timestamp is partitioned by the column that is
        generated for it. A node of a tier enters it.
        """
        if config.get("file_format") is None:
            config.model.config["file_format"] = "delta"
        if getattr(config.model, "previous_batch_results", None) is not None:
            # `dbt retry` repeats --full-refresh: its first batch would replace what went well.
            config.model.config["full_refresh"] = False
        for key, value in named.lists(config).items():
            config.model.config[key] = value
        session = self._handle.session
        self._check_free(config)
        meta = config.get("meta") or {}
        if "alluvium_merge" in meta:
            # A merge then marks the rows that it replaces instead of rewriting their files. It
            # names its columns, so nothing may evolve behind it.
            given = config.get("tblproperties") or {}
            config.model.config["tblproperties"] = {_VECTORS: "true", **given}
        elif config.get("on_schema_change") in ("append_new_columns", "sync_all_columns"):
            session.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
        if layouts.META in meta and config.model.resource_type == "model":
            partition_by = layouts.partition_columns(config.get("partition_by"))
            layout = layouts.declared(config.model.name, meta[layouts.META])
            column = layouts.generated(layout, partition_by)
            if column is not None and column.name not in partition_by:
                config.model.config["partition_by"] = [*partition_by, column.name]
        tier = meta.get("alluvium_tier")
        if tier is not None:
            self._enter_tier(session, tier)

    def _check_free(self, config: Any) -> None:
        """Raise where a table that the metastore does not know would be written over."""
        node = config.model
        if not lost_tables.keeps_rows(node) or not self._has_own_metastore:
            return
        if self.get_relation("", str(node.schema), str(node.alias)) is not None:
            return
        with spark_errors():
            found = lost_tables.there(self._handle.session, node)
        if found is None:
            return
        for relation in self.list_relations_without_caching(
            self.Relation.create(schema=node.schema)
        ):
            if str(relation.identifier).lower() == str(node.alias).lower():
                self.cache_added(relation)  # a hook has registered it since dbt asked
                return
        full = config.get("full_refresh")
        full = get_flags().FULL_REFRESH if full is None else full
        lost_tables.check_replaced(node, found, full_refresh=bool(full))

    def _enter_tier(self, session: SparkSession, name: str) -> None:
        """Run this node in its tier's pool and with its Spark settings; both end with the node."""
        tier = self.execute_macro("tiers", project="alluvium").get(name) or {}
        pools.use(session, name, tier.get("weight", 1), tier.get("min_share", 0))
        with spark_errors():
            for key, value in as_text(tier.get("spark_conf") or {}).items():
                session.conf.set(key, value)

    def get_columns_in_relation(self, relation: BaseRelation) -> list[Any]:
        """The columns that a relation stores; none where there is no such relation.

        From Spark's types: the text of DESCRIBE, dbt-spark's way, does not tell a column whose name
        begins with `#` from the heading that ends the columns.
        """
        stored = relation.stored if isinstance(relation, AlluviumRelation) else relation
        session = self._handle.session
        with spark_errors():
            try:
                fields = self._handle.unread(stored.render()).schema.fields
            except AnalysisException as error:
                if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
                    return []
                raise
            table = None
            if has_bounds(fields) and stored.schema:
                table = catalog.table(session, str(stored.schema), str(stored.identifier))
        found = columns(fields, keeps_bounds=table is None or table.provider != "delta")
        return [one for one in found if one.name not in self.HUDI_METADATA_COLUMNS]

    def get_missing_columns(
        self, from_relation: BaseRelation, to_relation: BaseRelation
    ) -> list[Any]:
        """Columns that only the first relation has, less the keys of a snapshot's staging table.

        dbt-spark's snapshot leaves out one key but not several: it would store them, and at the
        next run find each twice.
        """
        missing = super().get_missing_columns(from_relation, to_relation)
        missing = [one for one in missing if not _STAGED_KEY.fullmatch(one.name)]
        stored = [one.name for one in self.get_columns_in_relation(to_relation)] if missing else []
        return [one for one in missing if not among(one.name, stored)]

    # Texts ---------------------------------------------------------------------------------

    @available
    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name, as it is stored, as an identifier."""
        return quoted(str(identifier))

    @available
    @classmethod
    def bare(cls, identifier: str) -> str:
        """A column's name as it is stored, of one that may stand in backticks."""
        return bare(identifier)

    @available
    @classmethod
    def identifiers(cls, names: str | list[str] | None, columns: list[AlluviumColumn]) -> list[str]:
        """Names in a setting as SQL finds them among columns, with backticks or without."""
        return named.identifiers(names, [column.name for column in columns])

    @available
    @classmethod
    def literal(cls, text: Any) -> str:
        """A text as a literal that Spark reads as it was written."""
        return literal(str(text))

    @available
    @classmethod
    def stored_names(cls, names: list[str], columns: list[AlluviumColumn]) -> list[str]:
        """Names, each as it is written among columns that have it in another case."""
        stored = {column.name.lower(): column.name for column in columns}
        return [stored.get(name.lower(), name) for name in names]

    @available.parse(lambda sql, *a, **k: sql)
    def limited(self, sql: str, limit: int | None) -> str:
        """A statement that gives at most `limit` rows, for `dbt show`."""
        try:
            with spark_errors(sql):
                return limited(self._handle.session, sql, limit)
        except ValueError as error:
            raise DbtRuntimeError(f"dbt show: {error}") from error

    def _last_statement(self, sql: str) -> str:
        return statements(self._handle.session, sql)[-1]

    # The project ---------------------------------------------------------------------------

    _is_retry = False

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        super().set_macro_resolver(macro_resolver)
        told.look_in(self)
        self._is_retry = selection.begin(self.config)
        for source in getattr(macro_resolver, "sources", {}).values():
            # An operation renders no `source()`, which would do that, nor do unit tests.
            streams.declare(source)
        # The package's hook is for targets of other types; dbt would run and report it for nothing.
        getattr(macro_resolver, "nodes", {}).pop(_HOOK_OF_THE_PACKAGE, None)

    @available
    def is_retry(self) -> bool:
        """Whether this is `dbt retry`, which takes up what failed in the command before."""
        return self._is_retry

    # Settings ------------------------------------------------------------------------------

    _checked = False

    def check_settings(self) -> None:
        """Check `meta.alluvium_*` of the whole project, once, before any SQL.

        The package knows it all; without it the adapter checks what is its own.
        """
        if self._checked or self._macro_resolver is None:
            return
        self._checked = True
        project = self.config.project_name
        nodes = [
            node
            for kind in ("nodes", "sources")
            for node in getattr(self._macro_resolver, kind, {}).values()
        ]
        if one_table := settings.clashes(nodes):
            raise DbtRuntimeError("nothing was run:\n  - " + "\n  - ".join(one_table))
        if self._macro_resolver.find_macro_by_name("validate", project, "alluvium"):
            self.execute_macro("validate", project="alluvium")
            return
        for line in settings.near_misses(nodes):
            told.warn(line)
        found = settings.mistakes(nodes)
        if found:
            raise DbtRuntimeError(
                "mistakes in the settings of alluvium, nothing was run:\n  - "
                + "\n  - ".join(found)
            )

    @available.parse_list
    def setting_mistakes(self, where: str, value: Any, schema: dict[str, Any]) -> list[str]:
        """Every mistake in a value, by the schema that the package has for it."""
        return schema_of_settings.mistakes(where, value, schema)

    @available.parse(lambda *a, **k: {})
    def given_vars(self) -> dict[str, Any]:
        """The vars of the project's file, those for one package too, and of the command line."""
        packages = self.config.load_dependencies()
        found: dict[str, Any] = {}
        for name, value in self.config.vars.vars.items():
            found |= value if name in packages and isinstance(value, dict) else {name: value}
        return found | dict(self.config.cli_vars)

    # dbt's first statements: schemas in build and run, relations in compile and show.

    def list_schemas(self, database: str) -> list[str]:
        self.check_settings()
        return super().list_schemas(database)

    def set_relations_cache(self, *args: Any, **kwargs: Any) -> None:
        self.check_settings()
        super().set_relations_cache(*args, **kwargs)

    @available.parse_none
    def check_named_columns(
        self,
        model: dict[str, Any],
        strategy: str | None,
        sql: str,
        target: BaseRelation | None = None,
    ) -> None:
        """Raise where dbt's settings of a model name a column that is not there.

        strategy: how rows come into its table; None where it is made anew each time.
        sql: its query.
        target: its table; None where it is yet to be made.
        """
        config = model["config"]
        evolves = target and config.get("on_schema_change") not in (None, "ignore")
        predicates = [] if strategy != "merge" or evolves else named.predicates(config)
        if not predicates and not named.columns(config, strategy, is_new=target is None):
            return  # nothing to look up, so the query is not analysed for it
        source = f"(\n{self._last_statement(sql)}\n)"
        try:
            selected = self._handle.table(source).columns
        except AnalysisException:
            return  # what is wrong with it is told by what runs it
        found = self.predicate_mistakes(predicates, source, target)
        self._refuse_unknown(model, strategy, selected, target, found)

    @available.parse_list
    def condition_mistakes(self, setting: str, sql: str, relation: str) -> list[str]:
        """What is wrong with a condition on the rows of a relation; nothing runs."""
        rows = self._handle.unread(relation)
        try:
            rows.selectExpr(f"coalesce((\n{sql}\n), false)")
        except (AnalysisException, ParseException) as error:
            return [f"{setting}: {named.why(error, rows.columns)}"]
        return []

    @available.parse_list
    def predicate_mistakes(
        self, predicates: str | list[str] | None, source: str, target: BaseRelation | None
    ) -> list[str]:
        """What is wrong with a merge's own conditions on its batch and its table; nothing runs.

        target: None where the table is yet to be made, with the columns of the batch.
        """
        given, found = named.as_list(predicates), []
        if not given:
            return []
        table = source if target is None else target.render()
        if not among("_deleted", self._handle.table(table).columns):
            # A merge that keeps tombstones adds it.
            table = f"(select *, cast(null as boolean) as `_deleted` from {table})"
        joined = f"{source} as DBT_INTERNAL_SOURCE cross join {table} as DBT_INTERNAL_DEST"
        selected = self._handle.table(source).columns
        for sql in given:
            try:
                self._handle.table(f"{joined}\nwhere (\n{sql}\n)")
            except (AnalysisException, ParseException) as error:
                found.append(f"incremental_predicates: {named.why(error, selected)}")
        return found

    # Python models -------------------------------------------------------------------------

    @property
    def default_python_submission_method(self) -> str:
        return "session"

    @log_code_execution
    def submit_python_job(
        self, parsed_model: dict[str, Any], compiled_code: str
    ) -> AdapterResponse:
        method = parsed_model["config"].get("submission_method") or "session"
        python_models.check_submission_method(method)
        source = self._source_file(parsed_model)
        check = self._column_check(parsed_model)
        live = self._live_refs(parsed_model)
        self._ask_for_ranges(parsed_model["unique_id"])
        figures: Figures = python_models.run(
            self._handle, parsed_model, compiled_code, source, live, check
        )
        return figures.response()

    def _column_check(self, parsed_model: dict[str, Any]) -> Callable[[list[str]], None]:
        """What refuses a frame whose columns are not those that the model's settings name."""
        config, strategy, target = parsed_model["config"], None, None
        if config["materialized"] == "incremental":
            merged = "alluvium_merge" in (config.get("meta") or {})
            strategy = config.get("incremental_strategy") or ("merge" if merged else "append")
            target = self.get_relation("", parsed_model["schema"], parsed_model["alias"])
        return lambda columns: self._refuse_unknown(parsed_model, strategy, columns, target)

    def _refuse_unknown(
        self,
        model: dict[str, Any],
        strategy: str | None,
        selected: list[str],
        target: BaseRelation | None,
        further: Iterable[str] = (),
    ) -> None:
        config = model["config"]
        stored = target and [column.name for column in self.get_columns_in_relation(target)]
        block = (config.get("meta") or {}).get(layouts.META)
        made = layouts.generated(layouts.declared(model["name"], block), named.partitions(config))
        known = [*selected, made.name] if made else selected
        mistakes = [*named.unknown(config, strategy, known, stored), *further]
        if mistakes:
            raise DbtRuntimeError(
                f"{model['name']} cannot be written:\n  - " + "\n  - ".join(mistakes)
            )

    def _ask_for_ranges(self, planner: str) -> None:
        """Leave what a merge wants to know of the Python model of this unique id, if one does."""
        resolver, project = self._macro_resolver, self.config.project_name
        if resolver is None or not resolver.find_macro_by_name("validate", project, "alluvium"):
            return
        request = self.execute_macro(
            "range_request_of", project="alluvium", kwargs={"planner": planner}
        )
        if request is not None:
            self._handle.session.conf.set(ranges.REQUEST, json.dumps(request))

    def _live_refs(self, parsed_model: dict[str, Any]) -> dict[str, str]:
        """Parents that keep tombstones: the name that `dbt.ref` knows to the query without them."""
        found = {}
        nodes = getattr(self._macro_resolver, "nodes", {})
        for unique_id in parsed_model["depends_on"]["nodes"]:
            node = nodes.get(unique_id)
            for parent in (node, getattr(node, "defer_relation", None)):
                if parent is not None and keeps_tombstones(parent):
                    relation = self.Relation.create_from(self.config, parent, limit=None)
                    found[relation.render()] = str(relation)
        return found

    def _source_file(self, parsed_model: dict[str, Any]) -> Path | None:
        """The file that a node is written in, in the project or in one of its packages."""
        root = self.root_of(parsed_model["package_name"])
        return root and root / parsed_model["original_file_path"]

    # Seeds ---------------------------------------------------------------------------------

    @available.parse_none
    def load_seed(
        self, create: str, rows: agate.Table, column_types: dict[str, str]
    ) -> AdapterResponse:
        """Write `rows` by `create`, a CREATE TABLE up to its AS, each column cast to its type."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the seed
        return seeds.load(self._handle.session, create, rows, column_types).response()

    # Streams -------------------------------------------------------------------------------

    @available.parse(lambda *a, **k: {})
    def append_stream(
        self,
        relation: AlluviumRelation,
        sql: str,
        full_refresh: bool = False,
        empty: bool = False,
        file_format: str = "delta",
        partition_by: str | list[str] | None = None,
        location_root: str | None = None,
        tblproperties: dict[str, Any] | None = None,
        layout: Any = None,
    ) -> dict[str, Any]:
        """Append what is new at the one stream that `sql` reads; returns the run's figures."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the stream
        target = streams.target(
            self._handle.session,
            relation,
            Path(self.config.credentials.home),
            file_format=file_format,
            partition_by=partition_by,
            location_root=location_root,
            tblproperties=tblproperties,
            layout=layouts.layout_of(str(relation.identifier), layout, partition_by),
        )
        with spark_errors(sql):
            figures = streams.append(
                self._handle.session, sql, target, full_refresh=full_refresh, empty=empty
            )
        return streams.as_dict(figures, str(relation.identifier), empty)

    @available.parse_none
    def stream_response(self, figures: dict[str, Any]) -> AdapterResponse:
        return streams.StreamResponse.of(figures)

    @available.parse_none
    def check_no_stream(self, relation: AlluviumRelation, sql: str) -> None:
        """Raise where the query of a view reads a stream."""
        streams.check_view(relation.render(), sql)

    @available.parse_none
    def check_delta(self, relation: AlluviumRelation) -> None:
        """Raise where what is there under a relation's name cannot be written as Delta."""
        with spark_errors():
            session = self._handle.session
            found = catalog.table(session, str(relation.schema), str(relation.identifier))
            if found is None or found.is_view:
                return
            name = relation.render()
            if found.provider != "delta":
                raise DbtRuntimeError(
                    f"{name} is there as a table of format {found.provider}, and the model writes "
                    "Delta. Rename or drop that table, or turn it into Delta with "
                    f"`convert to delta {name}`, and run again"
                )
            if not streams.holds_delta(session, found.location):
                raise DbtRuntimeError(
                    f"{name} is known, but its folder {found.location} holds no Delta table. Put "
                    f"the folder back, or run `drop table {name}` to build the table from nothing"
                )

    @available.parse_list
    def stream_mistakes(self, sources: list[dict[str, Any]]) -> list[str]:
        """Every mistake in `meta.alluvium_stream` of the graph's sources."""
        return streams.mistakes(sources)

    # The layout ----------------------------------------------------------------------------

    @available.parse_list
    def layout_mistakes(self, models: list[dict[str, Any]]) -> list[str]:
        """Every mistake in `meta.alluvium_layout` of the graph's models."""
        return layouts.mistakes(models)

    @available.parse_list
    def layout_suggestions(
        self, tables: list[dict[str, Any]], nodes: list[dict[str, Any]]
    ) -> list[str]:
        """Lines that say what the filters of compiled nodes ask of tables: `suggestions.lines`."""
        compiled = Path(self.config.project_target_path) / "compiled"
        with spark_errors():
            return list(suggestions.lines(self._handle.session, compiled, nodes, tables))

    @available.parse_none
    def check_bucket_column(
        self, table: str, model: str, block: Any, partition_by: str | list[str] | None
    ) -> None:
        """Raise where the table lacks the partition column that its buckets are to be made by."""
        column = layouts.generated(layouts.declared(model, block), partition_by)
        if column is not None:
            layouts.check_table(self._handle.session, table, model, column)

    @available.parse_none
    def check_layout(
        self,
        sql: str,
        model: str,
        block: Any,
        partition_by: str | list[str] | None,
        table: str | None = None,
        more_columns: bool = True,
    ) -> None:
        """Raise where the table that a query is written to cannot have the layout.

        table: the one that is there; None for a new one.
        more_columns: whether it gets those of the query that it lacks.
        """
        layout = layouts.declared(model, block)
        if layout is None:
            return
        try:
            rows = self._handle.table(f"(\n{self._last_statement(sql)}\n)").schema
        except AnalysisException:
            return  # what is wrong with it is told by what runs it
        fields = rows.fields if more_columns else []
        with spark_errors():
            layouts.check(self._handle.session, model, layout, fields, partition_by, table)

    @available.parse(lambda sql, *a, **k: sql)
    def with_bucket_column(
        self, sql: str, model: str, block: Any, partition_by: str | list[str] | None
    ) -> str:
        """The query with what its buckets are made by: a table created from it generates that."""
        column = layouts.generated(layouts.declared(model, block), partition_by)
        if column is None:
            return sql
        with spark_errors():
            rows = self._handle.table(f"(\n{self._last_statement(sql)}\n)")
            view = quoted(f"__alluvium_bucketed_{model}")
            layouts.with_column(rows, model, column).createOrReplaceTempView(view)
        return f"select * from {view}"

    @available.parse_none
    def batch_query(
        self,
        batch: str,
        table: str,
        model: str,
        block: Any,
        partition_by: str | list[str] | None,
        in_order: bool,
        replaces: bool,
    ) -> str | None:
        """A query of the relation `batch` as its table takes it; None where it is so already.

        dbt's statements write every column of a table. So the batch gets those that Delta computes,
        whether the model's layout still asks for them or not.

        in_order: whether its rows are to have the layout's order.
        replaces: whether it takes the place of all rows where the model has no partitions.
        """
        layout = layouts.layout_of(model, block, partition_by)
        with spark_errors():
            computed = layouts.left_out(
                self._handle.session,
                table,
                model,
                lambda: self._handle.table(batch),
                replaces and not partition_by,
            )
        return layouts.batch_query(batch, computed, layout, partition_by, in_order)

    @available.parse(lambda *a, **k: ([], ""))
    def compact(
        self, table: str, model: str, block: Any, dry_run: bool = False, is_hook: bool = False
    ) -> tuple[list[str], str]:
        """Compact a table by `meta.alluvium_layout`: lines that say what was done, or in a dry run
        would be, and what failed. Nothing is raised for that: other tables are to be compacted."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the compaction
        with spark_errors():
            return layouts.compact(self._handle.session, table, model, block, dry_run, is_hook)

    @available.parse(lambda *a, **k: "")
    def storage(self, kind: str, tables: list[dict[str, Any]]) -> str:
        """The name of a view of what the tables' logs say; `storage.view` describes it."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the reading
        with spark_errors():
            return storage.view(self._handle.session, kind, tables)

    # Windows of microbatches ---------------------------------------------------------------

    @available.parse_none
    def batch_window(self, batch: str, table: str | None, node: dict[str, Any]) -> Window:
        """The window of event time that this batch of the model `node` is to overwrite.

        table: the one that is there; None where `batch`, a staged relation, becomes one.
        """
        with spark_errors():
            return windows.of_batch(self._handle.table(table or batch), node)

    @available.parse_none
    def write_window(
        self,
        window: Window,
        table: str,
        batch: str,
        node: dict[str, Any],
        create: str | None = None,
        fills: bool = False,
    ) -> dict[str, Any]:
        """Put the rows of `batch` in place of the window's: the statement, and dbt's response.

        Under --empty and --sample rows that stand there are left alone, and so is the batch.

        create: the statement that makes the table of them; None where it is there.
        fills: whether a column that the batch leaves out becomes NULL.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the write
        session, name = self._handle.session, node["name"]
        with spark_errors(), windows.errors():
            if create is not None:
                return windows.create(session, table, create, batch, window, name)
            return windows.overwrite(session, table, batch, window, name, fills)

    # The merge -----------------------------------------------------------------------------

    @available.parse_none
    def merge_progress(self, table: str, model_id: str) -> int | None:
        return progress.read(self._handle.session, table, model_id)

    @available.parse(lambda *a, **k: {})
    def freshness(
        self, table: str, model_id: str, newest_event: str | None = None
    ) -> dict[str, Any]:
        """How far a merged model has come beside the streaming table that it is merged from.

        Empty where that is not one table, or its log does not say.
        """
        bronze = freshness.bronze_of(self.node_of(model_id), self.node_of)
        if bronze is None:
            return {}
        relation = self.Relation.create_from(self.config, bronze)
        through = progress.read(self._handle.session, table, model_id)
        return freshness.figures(
            self._handle.session, relation.render(), bronze.name, through, newest_event
        )

    @available.parse(lambda *_, **__: False)
    def once_had_batch(self, relation: BaseRelation, batch: int) -> bool:
        return streams.once_had_batch(self._handle.session, relation, batch)

    @available.parse(lambda *a, **k: {})
    def made_columns(self, table: str) -> dict[str, bool]:
        """Columns that a Delta table fills itself, and whether no batch may bring them."""
        return log.metadata(self._handle.session, table).made

    @available.parse_list
    def partition_columns(self, table: str) -> list[str]:
        return log.metadata(self._handle.session, table).partitions

    @available.parse_none
    def stored_table(self, table: str) -> dict[str, Any]:
        """What a merge asks of its table, of one version: the macro `stored_table` says what."""
        with spark_errors():
            known = log.metadata(self._handle.session, table)
        texts = known.noted(log.BOUNDED_TEXT)
        return {
            "id": known.id,
            "columns": columns(known.schema.fields, keeps_bounds=False),
            "partitions": known.partitions,
            "made": known.made,
            "padded": [f"{name} {kind}" for name, kind in texts.items() if kind.startswith("char")],
            "limits": {
                name.lower(): int(kind[8:-1])
                for name, kind in texts.items()
                if kind.startswith("varchar")
            },
        }

    @available.parse_none
    def copy_progress(self, source: str, target: str) -> int:
        return progress.copy(self._handle.session, source, target)

    @available.parse_none
    def files_kept(self, table: str, predicate: str | None) -> dict[str, int]:
        return log.skipping(self._handle.session, table, predicate).figures()

    @available.parse_none
    def sync_fields(self, source: str, table: str, on_schema_change: str) -> None:
        """Give a table the fields inside columns that a batch brings: see `nested.sync`."""
        with spark_errors():
            rows = self._handle.table(source)
            nested.sync(self._handle.session, rows, table, on_schema_change)

    @available.parse_none
    def fit_fields(self, source: str, view: str, table: str, on_schema_change: str) -> bool:
        """Register the batch with the table's fields as `view`; false where it has them."""
        with spark_errors():
            rows = self._handle.table(source)
            fitted = nested.fit(self._handle.session, rows, table, on_schema_change)
            if fitted is not None:
                fitted.createOrReplaceTempView(view)
            return fitted is not None

    @available.parse_none
    def keep_batch(self, source: str, table: str) -> None:
        """Keep the rows of a staged batch, which is read several times, until `release_batch`.

        table: that it will be merged into. A batch that reads it is computed from one version.
        """
        with spark_errors():
            self._handle.keep(source, table)

    @available.parse_none
    def release_batch(self, source: str) -> None:
        with spark_errors():
            self._handle.release(source)

    @available.parse_none
    def hold_version(self, table: str) -> None:
        """Let the merge of this node find the version that `table` has now, or plan anew."""
        if self._handle.merge_at is None:
            self._handle.merge_at = log.version(self._handle.session, table)

    @available.parse(lambda *a, **k: False)
    def is_small(self, source: str) -> bool:
        with spark_errors():
            return batch.is_small(self._handle.table(source))

    @available.parse_list
    def plan_ranges(self, source: str, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Range rows of the batch `source`, a relation of this session."""
        return self._planned(ranges.plan_batch, source, request, [])

    @available.parse_list
    def reprice_ranges(
        self, rows: list[dict[str, Any]], request: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Range rows, planned anew where the table has moved on since."""
        with spark_errors():
            return ranges.reprice(self._handle.session, rows, request)

    @available.parse_none
    def plan_predicate(self, source: str, request: dict[str, Any]) -> dict[str, Any]:
        """The cheapest predicate on several columns for the batch `source`."""
        nothing = {"sql": "true", "ranges": 0, "method": "none"}
        return self._planned(ranges.plan_columns, source, request, nothing)

    def _planned(
        self,
        plan: Callable[[SparkSession, Callable[[], DataFrame], dict[str, Any]], T],
        source: str,
        request: dict[str, Any],
        nothing: T,
    ) -> T:
        """What `plan` finds for the batch `source`, or `nothing` where it cannot have ranges."""
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the planning
        session = self._handle.session
        with spark_errors():
            try:
                return plan(session, lambda: self._handle.table(source), request)
            except UnfitError as error:
                told.warn(f"{error}. The merge goes on without ranges.")
                return nothing

    @available.parse_none
    def run_merge(
        self,
        table: str,
        model_id: str,
        attempt: dict[str, Any],
        plan: Callable[..., dict[str, Any]],
        arguments: list[Any],
    ) -> dict[str, Any]:
        """Run a merge, planned anew by the macro `plan` for every try after the first.

        Returns the figures of the try that was committed, with its `sql`, the rows it changed
        (`affected`) and, where there are any, the files and bytes written.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the merge
        session = self._handle.session
        planned = True

        def statement() -> merge.Statement | None:
            nonlocal planned
            if not planned:
                # The batch may be computed from the table that another writer has changed.
                source = arguments[1].render()
                self.release_batch(source)
                self.keep_batch(source, table)
                attempt.update(plan(*arguments))
            planned = False
            if not attempt["pending"]:
                return None
            return merge.Statement(
                attempt["sql"], attempt["figures"], attempt["prune"], self._handle.merge_at
            )

        layout = layouts.layout_of(model_id, attempt["layout"], attempt["partition_by"])
        with spark_errors():
            outcome = merge.run(
                session,
                table,
                statement,
                model_id,
                attempt["through"],
                table_id=attempt["table_id"],
                engine=attempt["engine"],
                sort_by=layout.sort_by if layout else (),
            )
        affected = outcome.affected
        wrote: dict[str, Any] = {"files_written": outcome.files, "bytes_written": outcome.bytes}
        if affected and outcome.files is None:
            wrote = written(session, table)
        return {
            **attempt["figures"],
            "sql": attempt["sql"],
            "affected": affected,
            "engine": outcome.engine,
            "refused": outcome.refused,
            "conflicts": outcome.conflicts,
            "already_merged": outcome.already_merged,
            **(outcome.kept.figures() if outcome.kept else {}),
            **(wrote if affected else {}),
        }

    @available.parse_none
    def merge_refused(self, sql: str) -> str | None:
        """Why the one-commit merge would leave this MERGE to MERGE INTO; None where it runs it."""
        with spark_errors():
            return one_commit.refused(self._handle.session, sql)

    @available.parse_none
    def run_again(self, table: str, sql: str, what: str) -> None:
        """Run a statement that may be repeated, again where other writers of `table` were faster.

        what: the statement's name, for messages.
        """
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the statement
        session = self._handle.session
        with spark_errors():
            retry(table, lambda: session.sql(sql).collect(), lambda: None, merge.RETRIES, what)

    @available.parse_none
    def merge_response(self, figures: dict[str, Any]) -> AdapterResponse:
        return MergeResponse.of(figures)

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {**super()._get_adapter_specific_run_info(config), "adapter_type": "alluvium"}
