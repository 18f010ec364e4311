"""Run dbt-databricks without a workspace: statements are noted down and answered by nothing, but
that `edits` is there, with a day of small files.

Runs with the Python of .venv-databricks. Takes JSON: a list of runs, each with `args` for dbt and
`environ` to add. Prints, as the last line, JSON of each run: `success`, `exception`, `lines`,
`shown` (those that a console has), `statements` and `asked`: what else a workspace would have been
asked for.
"""

import json
import os
import sys
from types import SimpleNamespace
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.databricks.column import DatabricksColumn
from dbt.adapters.databricks.connections import DatabricksConnectionManager
from dbt.adapters.databricks.impl import DatabricksAdapter
from dbt.adapters.databricks.relation import DatabricksRelation, DatabricksRelationType
from dbt.cli.main import dbtRunner
from dbt_common.clients import agate_helper
from dbt_common.tests import enable_test_caching
from functional import quick_json

statements: list[str] = []
asked: list[str] = []


def opened(connection: Connection) -> Connection:
    def nothing() -> None:
        pass

    asked.append("a connection")
    connection.state = ConnectionState.OPEN
    connection.handle = SimpleNamespace(close=nothing, cancel=nothing, session_id="", open=True)
    return connection


ANSWERS: dict[str, dict[str, Any]] = {
    "describe detail": {"partitionColumns": ["edited_on"]},
    "as `small`": {"bucket": "2015-09-12", "small": 40},
}


def execute(self: Any, sql: str, *args: Any, **kwargs: Any) -> tuple[AdapterResponse, Any]:
    statements.append(sql)
    for part, row in ANSWERS.items():
        if part in sql:
            return AdapterResponse("OK"), agate_helper.table_from_data_flat([row], list(row))
    return AdapterResponse("OK"), agate_helper.empty_table()


def get_relation(
    self: Any, database: str, schema: str, identifier: str, **kwargs: Any
) -> DatabricksRelation | None:
    asked.append(identifier)
    if identifier != "edits":
        return None
    return DatabricksRelation.create(
        database=database, schema=schema, identifier=identifier, type=DatabricksRelationType.Table
    )


def get_columns_in_relation(self: Any, relation: Any) -> list[DatabricksColumn]:
    asked.append(f"columns of {relation}")
    types = {"_value": "string", "_batch_id": "bigint"}
    if relation.identifier == "edits":
        types = {"edited_at": "timestamp", "edited_on": "date"}
    return [DatabricksColumn(name, kind) for name, kind in types.items()]


def list_schemas(self: Any, database: str) -> list[str]:
    asked.append("schemas")
    return []


def list_relations_without_caching(self: Any, relation: Any) -> list[DatabricksRelation]:
    asked.append("relations")
    return []


# As in the functional tests, which share one process too.
enable_test_caching()
quick_json.use()
DatabricksConnectionManager.open = staticmethod(opened)
DatabricksAdapter.execute = execute
DatabricksAdapter.add_query = execute
DatabricksAdapter.list_schemas = list_schemas
DatabricksAdapter.list_relations_without_caching = list_relations_without_caching
DatabricksAdapter.get_relation = get_relation
DatabricksAdapter.get_columns_in_relation = get_columns_in_relation


def ran(task: dict[str, Any]) -> dict[str, Any]:
    os.environ.update(task["environ"])
    statements.clear()
    asked.clear()
    lines: list[str] = []
    shown: list[str] = []

    def note(event: Any) -> None:
        lines.append(event.info.msg)
        if event.info.level != "debug":
            shown.append(event.info.msg)

    runner = dbtRunner(callbacks=[note])
    result = runner.invoke(task["args"])
    return {
        "success": result.success,
        "exception": str(result.exception),
        "lines": lines,
        "shown": shown,
        "statements": [*statements],
        "asked": [*asked],
    }


print(json.dumps([ran(task) for task in json.loads(sys.argv[1])]))
