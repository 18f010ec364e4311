"""dbt's public adapter suite: sample_mode."""

from dbt.tests.adapter.sample_mode import test_sample_mode as suite


class TestSampleModeTest(suite.BaseSampleModeTest):
    pass
