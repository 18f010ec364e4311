"""dbt's public adapter suite: concurrency."""

from dbt.tests.adapter.concurrency import test_concurrency as suite


class TestConcurrency(suite.BaseConcurrency):
    pass
