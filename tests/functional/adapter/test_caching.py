"""dbt's cache knows one relation for a table, whatever the case of its name.

The scenarios are those of dbt's public suite, whose own classes need a database.
"""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.caching import test_caching as suite
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.spark


class Cache:
    @pytest.fixture(scope="class")
    def unique_schema(self, prefix: str) -> str:
        return f"{prefix}_Caching_{type(self).__name__}"

    def run_and_inspect_cache(self, project: Any, run_args: list[str]) -> None:
        for _ in range(2):  # the materialization adds a relation, then the catalog has it
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations.values()
            names = relation.inner.schema, relation.inner.identifier
            assert [name.lower() for name in names] == [project.test_schema.lower(), "model"]
            assert relation.inner.database is None
            rows = project.run_sql(f"select * from {project.test_schema}.Model", fetch="all")
            assert rows == [(1,)]
            found = project.adapter.get_relation("", project.test_schema.upper(), "mODEL")
            assert found.type == "table"
            assert project.adapter.check_schema_exists("", project.test_schema.upper())


@pytest.mark.slow
class TestLowercaseModel(Cache, suite.BaseCachingLowercaseModel):
    pass


class TestUppercaseModel(Cache, suite.BaseCachingUppercaseModel):
    pass


@pytest.mark.slow
class TestSelectedSchemaOnly(Cache, suite.BaseCachingSelectedSchemaOnly):
    pass


@pytest.mark.slow
class TestNoPopulateCache(Cache, suite.BaseNoPopulateCache):
    pass


@pytest.mark.slow
class TestQuotedNames(Cache, suite.BaseCachingUppercaseModel):
    """Quotes do not make Spark's catalog tell cases apart."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"quoting": {"identifier": True, "schema": True}}
