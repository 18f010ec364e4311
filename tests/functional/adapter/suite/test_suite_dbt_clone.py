"""dbt's public adapter suite: dbt_clone."""

import pytest
from dbt.tests.adapter.dbt_clone import test_dbt_clone as suite
from dbt.tests.util import run_dbt_and_capture


class TestClonePossible(suite.BaseClonePossible):
    pass


@pytest.mark.skip(reason="the test writes <database>.<schema>.<table>, and Spark has no databases")
class TestCloneSameSourceAndTarget(suite.BaseCloneSameSourceAndTarget):
    pass


class TestCloneNotPossible(suite.TestPostgresCloneNotPossible):
    pass


class TestCloneSameTargetAndState(suite.BaseCloneSameTargetAndState):
    """Elsewhere a table becomes a clone of itself, and the command fails; here it stays."""

    def test_clone_same_target_and_state(self, project, unique_schema, other_schema):
        project.create_test_schema(other_schema)
        self.run_and_save_state(project.project_root)
        _, output = run_dbt_and_capture(["clone", "--defer", "--state", "target"])
        assert "The state and target directories are the same: 'target'" in output
        assert "table_model is the table of the state too: nothing to clone" in output
        assert project.run_sql("select count(*) from {schema}.table_model", fetch="one") == (2,)
