"""The time zone of a session, beside columns that Delta generates from a timestamp.

Delta computes such a column in the zone of the session that writes, and derives filters on it in
the zone of the one that reads. Where these are two zones, a read passes over rows that match.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

KEY = "spark.sql.session.timeZone"
UTC = "UTC"
# Whether Delta derives a filter on a generated column from one on what it is generated from.
_DERIVES = "spark.databricks.delta.generatedColumn.partitionFilterOptimization.enabled"
_NAMES = ("utc", "etc/utc", "gmt", "etc/gmt", "z", "+00:00")


def is_utc(zone: str) -> bool:
    """Whether a zone, as Spark's setting has it, is UTC; of a rare name of UTC it is False."""
    return zone.lower() in _NAMES


def of(session: SparkSession) -> str:
    """The zone of a session."""
    return str(session.conf.get(KEY))


def for_reads(zone: str) -> Mapping[str, str]:
    """Settings with which a session of this zone reads all rows that match."""
    return {} if is_utc(zone) else {_DERIVES: "false"}


def settle(session: SparkSession) -> None:
    """Let a session read all rows that match, whatever zone a statement gave it."""
    for key, value in for_reads(of(session)).items():
        session.conf.set(key, value)
