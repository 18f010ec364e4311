"""Python models in the session: what is checked before, and what they find in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbt.adapters.base.impl import log_code_execution
from dbt.adapters.contracts.connection import AdapterResponse

from alluvium.merge import ranges
from alluvium.plan.graph import keeps_tombstones
from dbt.adapters.alluvium import python_models
from dbt.adapters.alluvium.verbs.checking import Checking


class RunningPython(Checking):
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
        return python_models.run(self._handle, parsed_model, compiled_code, source, live, check)

    def _column_check(self, parsed_model: dict[str, Any]) -> Callable[[list[str]], None]:
        """What refuses a frame whose columns are not those that the model's settings name."""
        config, strategy, target = parsed_model["config"], None, None
        if config["materialized"] == "incremental":
            merged = "alluvium_merge" in (config.get("meta") or {})
            strategy = config.get("incremental_strategy") or ("merge" if merged else "append")
            target = self.get_relation("", parsed_model["schema"], parsed_model["alias"])
        return lambda columns: self._refuse_unknown(parsed_model, strategy, columns, target)

    def _ask_for_ranges(self, planner: str) -> None:
        """Leave what a merge wants to know of the Python model of this unique id, if one does."""
        resolver, project = self._macro_resolver, self.config.project_name
        if resolver is None or not resolver.find_macro_by_name("validate", project, "alluvium"):
            return
        request = self.execute_macro(
            "_range_request_of", project="alluvium", kwargs={"planner": planner}
        )
        if request is not None:
            self._handle.session.conf.set(ranges.REQUEST, json.dumps(request))

    def _live_refs(self, parsed_model: dict[str, Any]) -> dict[str, str]:
        """Parents that keep tombstones: the name that `dbt.ref` knows to the query without them."""
        found = {}
        for unique_id in parsed_model["depends_on"]["nodes"]:
            node = self.node_of(unique_id)
            for parent in (node, getattr(node, "defer_relation", None)):
                if parent is not None and keeps_tombstones(parent):
                    relation = self.Relation.create_from(self.config, parent, limit=None)
                    found[relation.render()] = str(relation)
        return found

    def _source_file(self, parsed_model: dict[str, Any]) -> Path | None:
        """The file that a node is written in, in the project or in one of its packages."""
        root = self.root_of(parsed_model["package_name"])
        return root and root / parsed_model["original_file_path"]
