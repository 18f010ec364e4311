"""The adapter: dbt-spark's, with the session's Python models and the library's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.impl import log_code_execution
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.spark.impl import SparkAdapter

from alluvium.delta import log
from alluvium.merge import execute as merge
from alluvium.merge import progress
from dbt.adapters.alluvium import python_models, seeds
from dbt.adapters.alluvium.connections import AlluviumConnectionManager
from dbt.adapters.alluvium.figures import Figures, MergeResponse
from dbt.adapters.alluvium.relation import AlluviumRelation
from dbt.adapters.alluvium.session import SessionHandle

if TYPE_CHECKING:
    import agate


class AlluviumAdapter(SparkAdapter):
    Relation = AlluviumRelation  # type: ignore[assignment]
    ConnectionManager = AlluviumConnectionManager  # type: ignore[assignment]

    @property
    def _handle(self) -> SessionHandle:
        """The session of the node that this thread runs."""
        return self.connections.get_thread_connection().handle

    def debug_query(self) -> None:
        self.execute("select 1 as id")

    def pre_model_hook(self, config: Any) -> None:
        """Make Delta the format of a node that names none.

        dbt-spark's materializations read `file_format` and take its absence for parquet: a table
        would be dropped before it is rebuilt, a snapshot refused.
        """
        if config.get("file_format") is None:
            config.model.config["file_format"] = "delta"

    # Python models -------------------------------------------------------------------------

    @property
    def default_python_submission_method(self) -> str:
        return "session"

    @log_code_execution
    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> AdapterResponse:
        method = parsed_model["config"].get("submission_method") or "session"
        python_models.check_submission_method(method)
        figures: Figures = python_models.run(self._handle, parsed_model, compiled_code)
        return figures.response()

    # Seeds ---------------------------------------------------------------------------------

    @available.parse_none
    def load_seed(
        self, relation: AlluviumRelation, rows: agate.Table, column_types: dict[str, str]
    ) -> None:
        """Append `rows` to the seed's table in one commit, each column cast to its type."""
        seeds.load(self._handle.session, relation.render(), rows, column_types)

    # The merge -----------------------------------------------------------------------------

    @available.parse_none
    def merge_progress(self, table: str, model_id: str) -> int | None:
        return progress.read(self._handle.session, table, model_id)

    @available.parse_none
    def copy_progress(self, source: str, target: str) -> int:
        return progress.copy(self._handle.session, source, target)

    @available.parse_none
    def files_kept(self, table: str, predicate: str | None) -> dict[str, int]:
        kept = log.skipping(self._handle.session, table, predicate)
        return {
            "files_kept": kept.files,
            "files_total": kept.files_total,
            "bytes_kept": kept.bytes,
            "bytes_total": kept.bytes_total,
        }

    @available.parse_none
    def run_merge(
        self, table: str, sql: str, model_id: str, through: int | None, figures: dict[str, Any]
    ) -> int:
        self._handle.cursor()  # names the job group, so that Ctrl-C reaches the merge
        return merge.run(self._handle.session, table, sql, model_id, through, figures)

    @available.parse_none
    def merge_response(self, figures: dict[str, Any]) -> AdapterResponse:
        return MergeResponse.of(figures)

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {**super()._get_adapter_specific_run_info(config), "adapter_type": "alluvium"}
