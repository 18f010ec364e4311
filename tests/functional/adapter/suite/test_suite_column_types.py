"""dbt's public adapter suite: column_types."""

import pytest
from dbt.tests.adapter.column_types import fixtures
from dbt.tests.adapter.column_types import test_column_types as suite

MODEL = """
select
    1::smallint as smallint_col,
    2::int as int_col,
    3::bigint as bigint_col,
    4.0::float as real_col,
    5.0::double as double_col,
    6.0::decimal(10, 2) as numeric_col,
    '7'::string as text_col,
    '8'::varchar(20) as varchar_col
"""


class TestColumnTypes(suite.BasePostgresColumnTypes):
    """The model's columns are cast to PostgreSQL's types."""

    @pytest.fixture(scope="class")
    def models(self):
        return {"model.sql": MODEL, "schema.yml": fixtures.schema_yml}
