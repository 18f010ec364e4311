"""dbt's public adapter suite: utils."""

import pytest
from dbt.tests.adapter.utils import (
    fixture_get_intervals_between,
    test_any_value,
    test_array_append,
    test_array_concat,
    test_array_construct,
    test_bool_or,
    test_cast,
    test_cast_bool_to_text,
    test_concat,
    test_current_timestamp,
    test_date,
    test_date_spine,
    test_date_trunc,
    test_dateadd,
    test_datediff,
    test_equals,
    test_escape_single_quotes,
    test_except,
    test_generate_series,
    test_get_intervals_between,
    test_get_powers_of_two,
    test_hash,
    test_intersect,
    test_last_day,
    test_length,
    test_listagg,
    test_null_compare,
    test_position,
    test_replace,
    test_right,
    test_safe_cast,
    test_source_freshness_custom_info,
    test_split_part,
    test_string_literal,
    test_timestamps,
    test_validate_sql,
)
from dbt.tests.adapter.utils.data_types import (
    test_type_bigint,
    test_type_boolean,
    test_type_float,
    test_type_int,
    test_type_numeric,
    test_type_string,
    test_type_timestamp,
)

COLUMN_TYPE = """
seeds:
  - name: expected
    config:
      column_types:
        {}: {}
"""


class TestTypeBigInt(test_type_bigint.BaseTypeBigInt):
    pass


class TestTypeBoolean(test_type_boolean.BaseTypeBoolean):
    pass


class TestTypeFloat(test_type_float.BaseTypeFloat):
    """A seed's decimals are doubles, which EXCEPT tells from floats."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {
            "expected.csv": test_type_float.seeds__expected_csv,
            "expected.yml": COLUMN_TYPE.format("float_col", "float"),
        }


class TestTypeInt(test_type_int.BaseTypeInt):
    """A seed's integers are bigints, which EXCEPT tells from ints."""

    @pytest.fixture(scope="class")
    def seeds(self):
        return {
            "expected.csv": test_type_int.seeds__expected_csv,
            "expected.yml": COLUMN_TYPE.format("int_col", "int"),
        }


class TestTypeNumeric(test_type_numeric.BaseTypeNumeric):
    """dbt's `type_numeric` is decimal(28,6) here."""

    def numeric_fixture_type(self):
        return "decimal(28,6)"


class TestTypeString(test_type_string.BaseTypeString):
    pass


class TestTypeTimestamp(test_type_timestamp.BaseTypeTimestamp):
    pass


class TestAnyValue(test_any_value.BaseAnyValue):
    pass


class TestArrayAppend(test_array_append.BaseArrayAppend):
    pass


class TestArrayConcat(test_array_concat.BaseArrayConcat):
    pass


class TestArrayConstruct(test_array_construct.BaseArrayConstruct):
    pass


class TestBoolOr(test_bool_or.BaseBoolOr):
    pass


class TestCast(test_cast.BaseCast):
    pass


class TestCastBoolToText(test_cast_bool_to_text.BaseCastBoolToText):
    pass


class TestConcat(test_concat.BaseConcat):
    pass


@pytest.mark.skip(reason="either this or the naive one: dbt reads what Spark gives as UTC")
class TestCurrentTimestampAware(test_current_timestamp.BaseCurrentTimestampAware):
    pass


class TestCurrentTimestampNaive(test_current_timestamp.BaseCurrentTimestampNaive):
    pass


class TestDate(test_date.BaseDate):
    pass


class TestDateSpine(test_date_spine.BaseDateSpine):
    pass


class TestDateTrunc(test_date_trunc.BaseDateTrunc):
    pass


class TestDateAdd(test_dateadd.BaseDateAdd):
    pass


class TestDateDiff(test_datediff.BaseDateDiff):
    pass


class TestEquals(test_equals.BaseEquals):
    pass


@pytest.mark.skip(reason="either this or the backslash one, which is how Spark escapes")
class TestEscapeSingleQuotesQuote(test_escape_single_quotes.BaseEscapeSingleQuotesQuote):
    pass


class TestEscapeSingleQuotesBackslash(test_escape_single_quotes.BaseEscapeSingleQuotesBackslash):
    pass


class TestExcept(test_except.BaseExcept):
    pass


class TestGenerateSeries(test_generate_series.BaseGenerateSeries):
    pass


class TestGetIntervalsBetween(test_get_intervals_between.BaseGetIntervalsBetween):
    """The dates are written as PostgreSQL reads them."""

    @pytest.fixture(scope="class")
    def models(self):
        sql = fixture_get_intervals_between.models__test_get_intervals_between_sql
        sql = sql.replace("09/01/2023", "2023-09-01").replace("09/12/2023", "2023-09-12")
        return {
            "test_get_intervals_between.yml": (
                fixture_get_intervals_between.models__test_get_intervals_between_yml
            ),
            "test_get_intervals_between.sql": self.interpolate_macro_namespace(
                sql, "get_intervals_between"
            ),
        }


class TestGetPowersOfTwo(test_get_powers_of_two.BaseGetPowersOfTwo):
    pass


class TestHash(test_hash.BaseHash):
    pass


class TestIntersect(test_intersect.BaseIntersect):
    pass


class TestLastDay(test_last_day.BaseLastDay):
    pass


class TestLength(test_length.BaseLength):
    pass


class TestListagg(test_listagg.BaseListagg):
    pass


class TestMixedNullCompare(test_null_compare.BaseMixedNullCompare):
    pass


class TestNullCompare(test_null_compare.BaseNullCompare):
    pass


class TestPosition(test_position.BasePosition):
    pass


class TestReplace(test_replace.BaseReplace):
    pass


class TestRight(test_right.BaseRight):
    pass


class TestSafeCast(test_safe_cast.BaseSafeCast):
    pass


class TestCalculateFreshnessMethod(test_source_freshness_custom_info.BaseCalculateFreshnessMethod):
    pass


class TestSplitPart(test_split_part.BaseSplitPart):
    pass


class TestStringLiteral(test_string_literal.BaseStringLiteral):
    pass


class TestCurrentTimestamps(test_timestamps.BaseCurrentTimestamps):
    """The functions and types are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "get_current_timestamp.sql": "select {{ current_timestamp() }} as current_timestamp"
        }

    @pytest.fixture(scope="class")
    def expected_schema(self):
        return {"current_timestamp": "timestamp"}

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return "select current_timestamp() as current_timestamp"


class TestValidateSqlMethod(test_validate_sql.BaseValidateSqlMethod):
    pass
