"""Run dbt-databricks without a workspace: statements are noted down and answered by nothing.

Runs with the Python of .venv-databricks; the arguments are dbt's. Prints, as the last line, JSON:
`success`, `exception` and `statements`.
"""

import json
import sys
from types import SimpleNamespace
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.databricks.column import DatabricksColumn
from dbt.adapters.databricks.connections import DatabricksConnectionManager
from dbt.adapters.databricks.impl import DatabricksAdapter
from dbt.cli.main import dbtRunner
from dbt_common.clients import agate_helper

statements: list[str] = []


def opened(connection: Connection) -> Connection:
    def nothing() -> None:
        pass

    connection.state = ConnectionState.OPEN
    connection.handle = SimpleNamespace(close=nothing, cancel=nothing, session_id="", open=True)
    return connection


def execute(self: Any, sql: str, *args: Any, **kwargs: Any) -> tuple[AdapterResponse, Any]:
    statements.append(sql)
    return AdapterResponse("OK"), agate_helper.empty_table()


DatabricksConnectionManager.open = staticmethod(opened)
DatabricksAdapter.execute = execute
DatabricksAdapter.add_query = execute
DatabricksAdapter.list_schemas = lambda self, database: []
DatabricksAdapter.list_relations_without_caching = lambda self, relation: []
DatabricksAdapter.get_columns_in_relation = lambda self, relation: [
    DatabricksColumn("_value", "string"),
    DatabricksColumn("_batch_id", "bigint"),
]

result = dbtRunner().invoke(sys.argv[1:])
print(
    json.dumps(
        {
            "success": result.success,
            "exception": str(result.exception),
            "statements": statements,
        }
    )
)
