"""dbt's public adapter suite: dbt_show."""

from dbt.tests.adapter.dbt_show import test_dbt_show as suite


class TestShowLimit(suite.BaseShowLimit):
    pass


class TestShowSqlHeader(suite.BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(suite.BaseShowDoesNotHandleDoubleLimit):
    """The error message is PostgreSQL's."""

    DATABASE_ERROR_MESSAGE = "limit"
