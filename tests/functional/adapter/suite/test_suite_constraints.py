"""dbt's public adapter suite: constraints."""

import hashlib
import re

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints import test_constraints as suite


# Checks and NOT NULL are added to the table that this statement has made.
def guards(**rules):
    """The filter of the first write: it passes every row, or fails (the suite cuts the names)."""
    return " and ".join(
        f"if({rule}, true, raise_error(<model_identifier> the constraint {name} ("
        + rule.replace("'", "\\'")
        + ") is violated'))"
        for name, rule in rules.items()
    )


def check(rule):
    return {f"check_{hashlib.md5(rule.encode()).hexdigest()[:8]}": rule}


CHECKS = guards(not_null="`id` is not null", **check("(id > 0)"), **check("id >= 1"))
EXPECTED = f"""
create or replace table <model_identifier>
using delta
as
select `id`, `color`, `date_day` from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
where {CHECKS}
"""
QUOTED_CHECKS = guards(
    not_null="`id` is not null and `from` is not null", **check("(`from` = 'blue')")
)
EXPECTED_QUOTED = f"""
create or replace table <model_identifier>
using delta
as
select `id`, `from`, `date_day` from (
    select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
) as model_subq
where {QUOTED_CHECKS}
"""


def spark_yml(text):
    return re.sub(r"\btext\b", "string", text)


def spark_header(text):
    return text.replace("set session time zone", "set time zone").replace(
        "current_setting('timezone')", "current_timezone()"
    )


class SparkTypes:
    """The types and literals are PostgreSQL's."""

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        # value, type in the contract, type in the error
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["array('1', '2')", "array<string>", "array"],
            ["array(1, 2)", "array<int>", "array"],
            ["date'2019-01-01'", "date", "date"],
            ["timestamp'2019-01-01 00:00:00'", "timestamp", "timestamp"],
            ["cast(1 as decimal(4, 2))", "decimal(4,2)", "decimal(4,2)"],
            ["cast(1 as double)", "double", "double"],
            ["named_struct('a', 1)", "struct<a:int>", "struct"],
        ]


class TestConstraintsRuntimeDdlEnforcement(suite.BaseConstraintsRuntimeDdlEnforcement):
    """The expected statement and the types are PostgreSQL's; rules are a filter."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return EXPECTED


class TestConstraintsRollback(suite.BaseConstraintsRollback):
    """The types and the error messages are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["not_null"]


class TestTableConstraintsColumnsEqual(SparkTypes, suite.BaseTableConstraintsColumnsEqual):
    """The types are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_schema_yml),
        }


class TestViewConstraintsColumnsEqual(SparkTypes, suite.BaseViewConstraintsColumnsEqual):
    """The types are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_schema_yml),
        }


class TestIncrementalConstraintsColumnsEqual(
    SparkTypes, suite.BaseIncrementalConstraintsColumnsEqual
):
    """The types are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_schema_yml),
        }


class TestIncrementalConstraintsRuntimeDdlEnforcement(
    suite.BaseIncrementalConstraintsRuntimeDdlEnforcement
):
    """The expected statement and the types are PostgreSQL's; rules are a filter."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_incremental_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return EXPECTED


class TestIncrementalConstraintsRollback(suite.BaseIncrementalConstraintsRollback):
    """The types and the error messages are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_incremental_model_sql,
            "constraints_schema.yml": spark_yml(fixtures.model_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["not_null"]


class TestTableContractSqlHeader(suite.BaseTableContractSqlHeader):
    """The header and the function that reads it back are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model_contract_sql_header.sql": spark_header(
                fixtures.my_model_contract_sql_header_sql
            ),
            "constraints_schema.yml": spark_yml(fixtures.model_contract_header_schema_yml),
        }


class TestIncrementalContractSqlHeader(suite.BaseIncrementalContractSqlHeader):
    """The header and the function that reads it back are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model_contract_sql_header.sql": spark_header(
                fixtures.my_model_incremental_contract_sql_header_sql
            ),
            "constraints_schema.yml": spark_yml(fixtures.model_contract_header_schema_yml),
        }


class TestModelConstraintsRuntimeEnforcement(suite.BaseModelConstraintsRuntimeEnforcement):
    """The expected statement and the types are PostgreSQL's; rules are a filter."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": spark_yml(fixtures.constrained_model_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return EXPECTED


class TestConstraintQuotedColumn(suite.BaseConstraintQuotedColumn):
    """The expected statement, the types and the quotes are PostgreSQL's."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": spark_yml(
                fixtures.model_quoted_column_schema_yml.replace('"from"', "`from`")
            ),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return EXPECTED_QUOTED


class TestIncrementalForeignKeyConstraint(suite.BaseIncrementalForeignKeyConstraint):
    pass
