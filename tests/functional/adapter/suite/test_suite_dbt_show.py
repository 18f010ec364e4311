"""dbt's public adapter suite: dbt_show."""

import pytest
from dbt.tests.adapter.dbt_show import test_dbt_show as suite


class TestShowLimit(suite.BaseShowLimit):
    pass


class TestShowSqlHeader(suite.BaseShowSqlHeader):
    pass


@pytest.mark.skip(reason="it wants an error; here a query with a limit of its own is shown")
class TestShowDoesNotHandleDoubleLimit(suite.BaseShowDoesNotHandleDoubleLimit):
    pass
