"""Run a MERGE so that its progress and figures are part of its own commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from alluvium.delta import log
from alluvium.merge import progress

_APP = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def run(
    session: SparkSession,
    table: str,
    sql: str,
    model: str,
    through: int | None,
    figures: Mapping[str, Any],
) -> int:
    """Run the MERGE `sql` into `table`; returns the rows it changed.

    through: the newest event batch in the source, recorded as the model's progress; a batch that
        was recorded before changes nothing and returns 0. None records none.
    figures: what the commit's metadata says of the merge.
    """
    table_id = log.table_id(session, table)
    metadata = {"alluvium_merge": {**figures, "table": table_id}}
    settings = {_METADATA: json.dumps(metadata, sort_keys=True)}
    if through is not None:
        settings |= {_APP: progress.app_id(model, table_id), _VERSION: str(through)}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        rows = session.sql(sql).collect()
    finally:
        # A leaked pair would make Delta skip the session's next write without a word.
        for key in settings:
            session.conf.unset(key)
    return int(rows[0]["num_affected_rows"]) if rows else 0
