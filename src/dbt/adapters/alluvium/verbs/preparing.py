"""What happens before a node runs: its config made complete, its table looked for, its tier."""

from __future__ import annotations

from typing import Any

from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from alluvium.delta.published.published import RETENTION
from alluvium.engine import pools, statements, zone
from alluvium.engine.properties import as_text
from alluvium.plan.recovery import findings
from dbt.adapters.alluvium import layouts, lost_tables, named, noting
from dbt.adapters.alluvium.handle import spark_errors
from dbt.adapters.alluvium.verbs.reusing import Reusing
from dbt.adapters.alluvium.verbs.versioning import Versioning

_VECTORS = "delta.enableDeletionVectors"
_GRANT = "grant select on t to `u`"


class Preparing(Reusing, Versioning):
    def pre_model_hook(self, config: Any) -> None:
        """Make Delta the format of a node that names none, and let it evolve if it may.

        dbt-spark's materializations read `file_format` and take its absence for parquet: a table
        would be dropped before it is rebuilt, a snapshot refused. Its MERGE fails on a column that
        the batch no longer has, whatever `on_schema_change` says, unless Delta may evolve. The
        setting ends with the node's session. Lists are what they go through, so a text becomes one.
        A table whose buckets are made from a timestamp is partitioned by the column that is
        generated for it. A node of a tier enters it. A test of a candidate reads one version of it.
        """
        if config.model.resource_type == "test":
            self.begin_test(config.model)
        if config.get("file_format") is None:
            config.model.config["file_format"] = "delta"
        if getattr(config.model, "previous_batch_results", None) is not None:
            # `dbt retry` repeats --full-refresh: its first batch would replace what went well.
            config.model.config["full_refresh"] = False
        for key, value in named.lists(config).items():
            config.model.config[key] = value
        session = self._handle.session
        # The statements for them come last: the node would fail behind its own work.
        if config.get("grants") and not statements.is_known(session, _GRANT):
            raise DbtRuntimeError(
                f"{config.model.name}: grants: Spark's own catalog has no grants, and this Spark no"
                " plug-in with the statement GRANT. Nothing was changed. Accepted: no `grants` on"
                " this target; who may read is what the permissions of the files say"
            )
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
        if config.model.unique_id in self._candidates:
            # Readers still see its files when it names them no more.
            given = config.get("tblproperties") or {}
            config.model.config["tblproperties"] = {**RETENTION, **given}
            self.begin_part(config.model)
        tier = meta.get("alluvium_tier")
        if tier is not None:
            self._enter_tier(session, tier)
        self.ask_for_reuse(config.model)

    def _check_free(self, config: Any) -> None:
        """Raise where a table that the metastore does not know would be written over."""
        node = config.model
        if not lost_tables.keeps_rows(node):
            return
        if self.get_relation("", str(node.schema), str(node.alias)) is not None:
            return
        with spark_errors():
            found = lost_tables.there(self._handle.session, node)
        noted = noting.read(self._home, f"{node.schema}.{node.alias}")
        was = noted.table_id if noted is not None else None
        if found is None and was is None:
            return
        schema = self.Relation.create(schema=node.schema)
        others = {
            str(one.identifier).lower(): one for one in self.list_relations_without_caching(schema)
        }
        if (since := others.get(str(node.alias).lower())) is not None:
            self.cache_added(since)  # a hook has registered it since dbt asked
            return
        full = config.get("full_refresh")
        full = get_flags().FULL_REFRESH if full is None else full
        if found is not None:
            lost_tables.check_replaced(node, found, full_refresh=bool(full))
        elif was is not None and not full:
            session = self._handle.session
            now = lost_tables.renamed_to(session, node, was, self.nodes.values())
            if now is not None:
                why = findings.renamed(self.table_of(node), now)
                raise DbtRuntimeError(
                    f"{node.name}: {why.what}: {why.means}. Nothing was changed. Accepted:"
                    f" {why.helps}; or --full-refresh, which begins from nothing"
                )

    def _enter_tier(self, session: SparkSession, name: str) -> None:
        """Run this node in its tier's pool and with its Spark settings; both end with the node."""
        tier = self.execute_macro("tiers", project="alluvium").get(name) or {}
        pools.use(session, name, tier.get("weight", 1), tier.get("min_share", 0))
        with spark_errors():
            for key, value in as_text(tier.get("spark_conf") or {}).items():
                session.conf.set(key, value)
            zone.settle(session)
