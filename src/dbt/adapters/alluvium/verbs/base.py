"""What each verb starts from: dbt-spark's adapter, and the session of the node that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.spark.impl import SparkAdapter
from pyspark.sql import SparkSession

from alluvium.engine.context import Settings
from alluvium.engine.statements import statements
from dbt.adapters.alluvium.column import AlluviumColumn
from dbt.adapters.alluvium.connections import AlluviumConnectionManager
from dbt.adapters.alluvium.handle import SessionHandle, mistakes, spark_errors
from dbt.adapters.alluvium.relation import AlluviumRelation


class SessionAdapter(SparkAdapter):
    """dbt-spark's adapter on a session in this process.

    A class of a verb inherits from it: so it has dbt's metaclass, without which Jinja would not see
    what is marked as `available`.
    """

    Relation = AlluviumRelation  # type: ignore[assignment]
    Column = AlluviumColumn  # type: ignore[assignment]
    ConnectionManager = AlluviumConnectionManager  # type: ignore[assignment]
    _capabilities = CapabilityDict(
        {
            **SparkAdapter._capabilities,
            Capability.MicrobatchConcurrency: CapabilitySupport(support=Support.Full),
        }
    )

    _is_retry = False

    @available
    def is_retry(self) -> bool:
        """Whether this is `dbt retry`, which takes up what failed in the command before."""
        return self._is_retry

    @property
    def _handle(self) -> SessionHandle:
        """The session of the node that this thread runs."""
        return self.connections.get_thread_connection().handle

    @contextmanager
    def _working(self, who: str | None = None) -> Iterator[SparkSession]:
        """The session of the node that this thread runs, for what may take its time.

        Spark knows the node's job group by then, so that Ctrl-C reaches its jobs. Errors pass as
        dbt's: those of Spark, and with `who` what cannot be done.
        """
        self._handle.cursor()
        with spark_errors() if who is None else mistakes(who):
            yield self._handle.session

    @property
    def _engine(self) -> Settings:
        """What Spark is started from."""
        return AlluviumConnectionManager.settings(self.config.credentials)

    @property
    def _home(self) -> Path:
        return Path(self.config.credentials.home)

    @property
    def nodes(self) -> Mapping[Any, Any]:
        """The enabled nodes of the project, by unique id; none while dbt has parsed none."""
        return getattr(self._macro_resolver, "nodes", {})

    def node_of(self, unique_id: str | None) -> Any:
        """A node of the project; None if there is none of this id."""
        return self.nodes.get(unique_id)

    def table_of(self, node: Any) -> str:
        """The name of a node's table, as SQL writes it."""
        return self.Relation.create_from(self.config, node).render()

    def root_of(self, package: str) -> Path | None:
        """The folder of the project or of one of its packages."""
        folder = self.config.load_dependencies().get(package)
        return folder and Path(folder.project_root)

    def _last_statement(self, sql: str) -> str:
        return statements(self._handle.session, sql)[-1]
