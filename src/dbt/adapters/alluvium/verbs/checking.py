"""Whether settings hold: the project's, once, and of a model the columns and conditions named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dbt.adapters.base import BaseRelation, available
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import AnalysisException, ParseException

from alluvium import schema as schema_of_settings
from alluvium.names import among
from alluvium.plan.status import notes
from dbt.adapters.alluvium import audit, layouts, named, noting, reuse, settings, told
from dbt.adapters.alluvium.verbs.base import SessionAdapter


class Checking(SessionAdapter):
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
        wrong = [
            *settings.clashes(nodes),
            *settings.cleaned_twice(nodes),
            *audit.mistakes(self.nodes),
        ]
        wrong += reuse.mistakes(nodes, self.given_vars())
        if not self._engine.is_local and not self.config.credentials.shared_disk:
            wrong += settings.on_one_disk(nodes, self._engine.warehouse)
        if wrong:
            raise DbtRuntimeError("nothing was run:\n  - " + "\n  - ".join(wrong))
        if self._macro_resolver.find_macro_by_name("validate", project, "alluvium"):
            self.execute_macro("validate", project="alluvium")
            self._note_build(self.execute_macro("tiers", project="alluvium"))
            return
        for line in settings.without_effect(nodes):
            told.warn(line)
        found = settings.mistakes(nodes)
        if found:
            raise DbtRuntimeError(
                "mistakes in the settings of alluvium, nothing was run:\n  - "
                + "\n  - ".join(found)
            )
        self._note_build(None)

    def _note_build(self, tiers: Any) -> None:
        credentials = self.config.credentials
        noting.building(
            Path(self.config.project_root),
            Path(self.config.project_target_path),
            self._home,
            notes.Build(target=self.config.target_name, schema=credentials.schema),
            tiers,
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

        strategy: how rows come into its table; None where it is made again each time.
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
