"""dbt's public adapter suite: incremental."""

import pytest
from dbt.tests.adapter.incremental import (
    test_incremental_merge_exclude_columns,
    test_incremental_microbatch,
    test_incremental_on_schema_change,
    test_incremental_predicates,
    test_incremental_unique_id,
)
from dbt.tests.util import run_dbt


class TestMergeExcludeColumns(test_incremental_merge_exclude_columns.BaseMergeExcludeColumns):
    pass


class TestMicrobatch(test_incremental_microbatch.BaseMicrobatch):
    pass


class TestIncrementalOnSchemaChange(
    test_incremental_on_schema_change.BaseIncrementalOnSchemaChange
):
    """Spark's default strategy appends, and Delta drops columns with column mapping only."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                "+incremental_strategy": "merge",
                "+tblproperties": {"delta.columnMapping.mode": "name"},
            }
        }


class MergePredicates:
    """Spark has no delete+insert: its merge leaves a row outside the predicate to be inserted."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                f"+{self.key}": ["dbt_internal_dest.id != 2"],
                "+incremental_strategy": "merge",
            }
        }

    @pytest.fixture(scope="class")
    def models(self):
        sql = test_incremental_predicates.models__delete_insert_incremental_predicates_sql
        return {
            "delete_insert_incremental_predicates.sql": sql.replace(
                " as id", "::bigint as id"
            )  # as the expected seed's
        }


class TestIncrementalPredicates(
    MergePredicates, test_incremental_predicates.BaseIncrementalPredicates
):
    key = "incremental_predicates"


class TestPredicatesDeleteInsert(
    MergePredicates, test_incremental_predicates.TestPredicatesDeleteInsert
):
    key = "predicates"


class TestIncrementalUniqueKey(test_incremental_unique_id.BaseIncrementalUniqueKey):
    """Spark's default strategy appends."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}

    def fail_to_build_inc_missing_unique_key_column(self, incremental_model_name):
        """A key that is not selected is told before the table is made, not by its second run."""
        run_dbt(["seed", "--select", "seed", "--full-refresh"])
        model = ["run", "--select", incremental_model_name, "--full-refresh"]
        result = run_dbt(model, expect_pass=False).results[0]
        return result.status, result.message
