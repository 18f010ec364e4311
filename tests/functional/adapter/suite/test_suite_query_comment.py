"""dbt's public adapter suite: query_comment."""

from dbt.tests.adapter.query_comment import test_query_comment as suite


class TestQueryComments(suite.BaseQueryComments):
    pass


class TestMacroQueryComments(suite.BaseMacroQueryComments):
    pass


class TestMacroArgsQueryComments(suite.BaseMacroArgsQueryComments):
    pass


class TestMacroInvalidQueryComments(suite.BaseMacroInvalidQueryComments):
    pass


class TestNullQueryComments(suite.BaseNullQueryComments):
    pass


class TestEmptyQueryComments(suite.BaseEmptyQueryComments):
    pass
