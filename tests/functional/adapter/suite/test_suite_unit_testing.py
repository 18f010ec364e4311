"""dbt's public adapter suite: unit_testing."""

import pytest
from dbt.tests.adapter.unit_testing import (
    test_case_insensitivity,
    test_invalid_input,
    test_quoted_reserved_word_column_names,
    test_types,
)
from functional.adapter.suite.spark_dialect import spark


class TestUnitTestCaseInsensivity(test_case_insensitivity.BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(test_invalid_input.BaseUnitTestInvalidInput):
    pass


class TestUnitTestQuotedReservedWordColumnNames(
    test_quoted_reserved_word_column_names.BaseUnitTestQuotedReservedWordColumnNames
):
    """The quotes are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        module = test_quoted_reserved_word_column_names
        return {
            "my_model.sql": module.my_model_sql,
            "my_upstream_model.sql": spark(
                module.my_upstream_model_with_reserved_word_column_name_sql
            ),
            "unit_tests.yml": module.test_my_model_csv_fixtures_yml,
        }


class TestUnitTestingTypes(test_types.BaseUnitTestingTypes):
    """The literals and types are PostgreSQL's."""

    @pytest.fixture
    def data_types(self):
        # SQL value, YAML value
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            ["map('10', 't', '15', null)", """'map("10", "t", "15", null)'"""],
            ["named_struct('a', 1, 'b', 2)", """'named_struct("a", 1, "b", 2)'"""],
        ]


class TestUnitTestingVarcharFixtureNoTruncation(
    test_types.BaseUnitTestingVarcharFixtureNoTruncation
):
    pass
