"""dbt's public adapter suite: simple_copy."""

from typing import ClassVar

import pytest
from dbt.tests.adapter.simple_copy import test_copy_uppercase, test_simple_copy


class TestSimpleCopyUppercase(test_copy_uppercase.BaseSimpleCopyUppercase):
    """The profile is PostgreSQL's, with a database in mixed case."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, home):
        return {"type": "alluvium", "threads": 4, "home": str(home)}


class TestSimpleCopy(test_simple_copy.SimpleCopyBase):
    skipped: ClassVar = {
        "test_simple_copy_with_materialized_views": (
            "Spark has no materialized views outside of its pipelines"
        ),
    }


class TestEmptyModelsArentRun(test_simple_copy.EmptyModelsArentRunBase):
    pass
