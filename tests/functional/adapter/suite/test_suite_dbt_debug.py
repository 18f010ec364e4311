"""dbt's public adapter suite: dbt_debug."""

from dbt.tests.adapter.dbt_debug import test_dbt_debug as suite


class TestDebug(suite.BaseDebugPostgres):
    pass


class TestDebugInvalidProject(suite.BaseDebugInvalidProjectPostgres):
    pass
