"""The adapter: dbt-spark's, with the session's Python models and the library's verbs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.contracts.relation import RelationConfig
from dbt_common.exceptions import CompilationError

from dbt.adapters.alluvium import selection, streams, told
from dbt.adapters.alluvium.verbs.adopting import Adopting
from dbt.adapters.alluvium.verbs.branching import Branching
from dbt.adapters.alluvium.verbs.checking import Checking
from dbt.adapters.alluvium.verbs.compacting import Compacting
from dbt.adapters.alluvium.verbs.describing import Describing
from dbt.adapters.alluvium.verbs.generating import Generating
from dbt.adapters.alluvium.verbs.merging import Merging
from dbt.adapters.alluvium.verbs.overwriting import Overwriting
from dbt.adapters.alluvium.verbs.preparing import Preparing
from dbt.adapters.alluvium.verbs.pruning import Pruning
from dbt.adapters.alluvium.verbs.quoting import Quoting
from dbt.adapters.alluvium.verbs.recovering import Recovering
from dbt.adapters.alluvium.verbs.restoring import Restoring
from dbt.adapters.alluvium.verbs.running_python import RunningPython
from dbt.adapters.alluvium.verbs.seeding import Seeding
from dbt.adapters.alluvium.verbs.streaming import Streaming

_HOOK_OF_THE_PACKAGE = "operation.alluvium.alluvium-on-run-start-0"


def _is_ours(one: Any) -> bool:
    """Whether what dbt names in an error is a macro of our package."""
    return getattr(one, "resource_type", None) == "macro" and one.package_name == "alluvium"


class AlluviumAdapter(
    Describing,
    Preparing,
    RunningPython,
    Merging,
    Checking,
    Quoting,
    Seeding,
    Streaming,
    Overwriting,
    Compacting,
    Recovering,
    Adopting,
    Restoring,
    Branching,
    Generating,
    Pruning,
):
    """dbt's adapter `alluvium`: the methods of dbt-spark's, and those of each verb."""

    @contextmanager
    def connection_named(
        self, name: str, query_header_context: Any = None, should_release_connection: bool = True
    ) -> Iterator[None]:
        connection = super().connection_named(name, query_header_context, should_release_connection)
        with told.running(query_header_context), connection:
            yield

    def execute_macro(self, *args: Any, **kwargs: Any) -> Any:
        """As dbt does; which macros of ours found a mistake says nothing more of it."""
        try:
            return super().execute_macro(*args, **kwargs)
        except CompilationError as error:
            error.stack = [one for one in error.stack if not _is_ours(one)]
            error.node = None if _is_ours(error.node) else error.node
            raise

    def debug_query(self) -> None:
        self.execute("select 1 as id")

    def valid_incremental_strategies(self) -> list[str]:
        return ["append", "merge", "insert_overwrite", "microbatch"]

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        super().set_macro_resolver(macro_resolver)
        told.look_in(self)
        self._is_retry = selection.begin(self.config)
        self.begin_audit()
        self.begin_reuse()
        self.begin_batches()
        for source in getattr(macro_resolver, "sources", {}).values():
            # An operation renders no `source()`, which would do that, nor do unit tests.
            streams.declare(source)
        # The package's hook is for targets of other types; dbt would run and report it for nothing.
        getattr(macro_resolver, "nodes", {}).pop(_HOOK_OF_THE_PACKAGE, None)

    def cleanup_connections(self) -> None:
        self.tell_reuse()
        self.tell_held_back()
        selection.carry(self.config, self._ledger.before)
        super().cleanup_connections()

    @classmethod
    def _get_adapter_specific_run_info(cls, config: RelationConfig) -> dict[str, Any]:
        return {**super()._get_adapter_specific_run_info(config), "adapter_type": "alluvium"}
