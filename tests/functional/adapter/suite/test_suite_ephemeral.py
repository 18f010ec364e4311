"""dbt's public adapter suite: ephemeral."""

import pytest
from dbt.tests.adapter.ephemeral import test_ephemeral as suite


@pytest.mark.skip(
    reason="the test compares the statement with PostgreSQL's `create view` in its body"
)
class TestEphemeralMulti(suite.BaseEphemeralMulti):
    pass


@pytest.mark.skip(
    reason="the test compares the statement with PostgreSQL's `create view` in its body"
)
class TestEphemeralNested(suite.BaseEphemeralNested):
    pass


class TestEphemeralErrorHandling(suite.BaseEphemeralErrorHandling):
    pass
