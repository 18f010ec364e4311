"""dbt's public adapter suite: aliases."""

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases import test_aliases as suite
from functional.adapter.suite.spark_dialect import spark


class StringLiteral:
    """The macro `string_literal` casts to PostgreSQL's `text`."""

    @pytest.fixture(scope="class")
    def macros(self):
        return {
            "cast.sql": spark(fixtures.MACROS__CAST_SQL),
            "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL,
        }


class TestAliases(StringLiteral, suite.BaseAliases):
    pass


class TestAliasErrors(StringLiteral, suite.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(StringLiteral, suite.BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(StringLiteral, suite.BaseSameAliasDifferentDatabases):
    pass
