"""dbt's public adapter suite: functions."""

import pytest
from dbt.tests.adapter.functions import test_udfs as suite


class TestUDFsBasic(suite.UDFsBasic):
    pass


class TestDeterministicUDF(suite.DeterministicUDF):
    """Spark's word is DETERMINISTIC."""

    def check_function_volatility(self, sql):
        assert "\n    DETERMINISTIC" in sql


class TestStableUDF(suite.StableUDF):
    """Spark knows no STABLE functions: a warning, and nothing in the statement."""

    def check_function_volatility(self, sql):
        assert "STABLE" not in sql


class TestNonDeterministicUDF(suite.NonDeterministicUDF):
    """Spark's words are NOT DETERMINISTIC."""

    def check_function_volatility(self, sql):
        assert "NOT DETERMINISTIC" in sql


class TestErrorForUnsupportedType(suite.ErrorForUnsupportedType):
    pass


class TestPythonUDFNotSupported(suite.PythonUDFNotSupported):
    pass


class TestSqlUDFDefaultArgSupport(suite.SqlUDFDefaultArgSupport):
    """Spark supports default arguments."""

    expect_default_arg_support = True


@pytest.mark.skip(reason="`show table extended`, which fills dbt's cache, lists no functions")
class TestCanFindScalarFunctionRelation(suite.CanFindScalarFunctionRelation):
    pass
