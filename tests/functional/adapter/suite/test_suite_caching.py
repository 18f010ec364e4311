"""dbt's public adapter suite: caching."""

import pytest
from dbt.tests.adapter.caching import test_caching as suite

NODB = pytest.mark.skip(
    reason="the test calls .lower() on the relation's database, and Spark has no databases"
)


@NODB
class TestCachingLowercaseModel(suite.BaseCachingLowercaseModel):
    pass


@NODB
class TestCachingUppercaseModel(suite.BaseCachingUppercaseModel):
    pass


@NODB
class TestCachingSelectedSchemaOnly(suite.BaseCachingSelectedSchemaOnly):
    pass


@NODB
class TestNoPopulateCache(suite.BaseNoPopulateCache):
    pass
