"""dbt's public adapter suite: grants."""

import pytest
from dbt.tests.adapter.grants import (
    test_incremental_grants,
    test_invalid_grants,
    test_model_grants,
    test_seed_grants,
    test_snapshot_grants,
)


@pytest.mark.skip(reason="Spark has no grants without an authorisation plug-in")
class TestIncrementalGrants(test_incremental_grants.BaseIncrementalGrants):
    pass


@pytest.mark.skip(reason="Spark has no grants without an authorisation plug-in")
class TestInvalidGrants(test_invalid_grants.BaseInvalidGrants):
    pass


@pytest.mark.skip(reason="Spark has no grants without an authorisation plug-in")
class TestModelGrants(test_model_grants.BaseModelGrants):
    pass


@pytest.mark.skip(reason="Spark has no grants without an authorisation plug-in")
class TestSeedGrants(test_seed_grants.BaseSeedGrants):
    pass


@pytest.mark.skip(reason="Spark has no grants without an authorisation plug-in")
class TestSnapshotGrants(test_snapshot_grants.BaseSnapshotGrants):
    pass
