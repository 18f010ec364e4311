"""Relations of the adapter."""

from dataclasses import dataclass

from dbt.adapters.spark.relation import SparkRelation


@dataclass(frozen=True, eq=False, repr=False)
class AlluviumRelation(SparkRelation):
    """A table or view of the session's catalog."""
