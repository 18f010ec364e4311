"""dbt's public adapter suite: hooks."""

import pytest
from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks

HOOK_TABLE = """
create or replace table {{schema}}.{name} (
    test_state string, target_dbname string, target_host string, target_name string,
    target_schema string, target_type string, target_user string, target_pass string,
    target_threads int, run_started_at string, invocation_id string, thread_id string
)
"""


def check(rows, project, state):
    """The suite's own check, with an alluvium target's values in place of a PostgreSQL one's."""
    for row in rows:
        assert row["test_state"] == state
        assert row["target_dbname"] == row["target_host"] == row["target_user"] == ""
        assert row["target_pass"] == ""
        assert row["target_name"] == "default"
        assert row["target_schema"] == project.test_schema
        assert row["target_threads"] == 4
        assert row["target_type"] == "alluvium"
        assert row["run_started_at"]
        assert row["invocation_id"]
        assert row["thread_id"].startswith("Thread-") or row["thread_id"] == "MainThread"


class ModelHooks:
    """The hooks' table and the target's values are PostgreSQL's."""

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        project.run_sql(HOOK_TABLE.format(name="on_model_hook"))

    def check_hooks(self, state, project, host, count=1):
        check(self.get_ctx_vars(state, count=count, project=project), project, state)


class TestPrePostModelHooks(ModelHooks, test_model_hooks.BasePrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(
    ModelHooks, test_model_hooks.TestPrePostModelHooksUnderscores
):
    pass


class TestHookRefs(ModelHooks, test_model_hooks.BaseHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(test_model_hooks.BasePrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(test_model_hooks.BaseHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(
    test_model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixed
):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    test_model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(test_model_hooks.BasePrePostModelHooksOnSnapshots):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(
    ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigKwargs
):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(
    test_model_hooks.BasePrePostSnapshotHooksInConfigKwargs
):
    pass


class TestDuplicateHooksInConfigs(test_model_hooks.BaseDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(test_run_hooks.BasePrePostRunHooks):
    """The hooks' tables and the target's values are PostgreSQL's."""

    @pytest.fixture
    def setUp(self, project, monkeypatch):
        project.run_sql(HOOK_TABLE.format(name="on_run_hook"))
        for table in ("schemas", "db_schemas"):
            project.run_sql(f"drop table if exists {project.test_schema}.{table}")
        monkeypatch.setenv("TERM_TEST", "TESTING")

    @pytest.fixture(scope="class")
    def project_config_update(self):
        schema = "{{ target.schema }}"
        return {
            "on-run-start": [
                "{{ custom_run_hook('start', target, run_started_at, invocation_id) }}",
                f"create table {schema}.start_hook_order_test ( id int )",
                f"drop table {schema}.start_hook_order_test",
                "{{ log(env_var('TERM_TEST'), info=True) }}",
            ],
            "on-run-end": [
                "{{ custom_run_hook('end', target, run_started_at, invocation_id) }}",
                f"create table {schema}.end_hook_order_test ( id int )",
                f"drop table {schema}.end_hook_order_test",
                f"create table {schema}.schemas ( schema string )",
                f"insert into {schema}.schemas (schema) values"
                " {% for schema in schemas %}('{{ schema }}'){{ ',' if not loop.last }}"
                "{% endfor %}",
                f"create table {schema}.db_schemas ( db string, schema string )",
                f"insert into {schema}.db_schemas (db, schema) values"
                " {% for db, schema in database_schemas %}(null, '{{ schema }}')"
                "{{ ',' if not loop.last }}{% endfor %}",
            ],
            "seeds": {"quote_columns": False},
        }

    def check_hooks(self, state, project, host):
        check([self.get_ctx_vars(state, project)], project, state)


class TestAfterRunHooks(test_run_hooks.BaseAfterRunHooks):
    pass
