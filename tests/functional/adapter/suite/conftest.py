"""What every class of dbt's suite needs on Spark."""

from __future__ import annotations

import getpass
from typing import Any

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from functional.adapter.suite.spark_dialect import spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that a class names in `skipped`, with its reason."""
    for item in items:
        if isinstance(item, pytest.Function) and item.cls is not None:
            reason = getattr(item.cls, "skipped", {}).get(item.originalname)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="class")
def project(project: TestProjInfo) -> TestProjInfo:
    """dbt's project, whose own statements (set-up and checks, never models) are read as Spark's."""
    run = project.run_sql
    project.run_sql = lambda sql, fetch=None: run(spark(sql), fetch=fetch)  # type: ignore
    project.get_tables_in_schema = lambda: tables_in_schema(project)  # type: ignore
    return project


def tables_in_schema(project: TestProjInfo) -> dict[str, str]:
    """Name and kind of each relation: dbt's own asks an information schema, which Spark lacks."""
    with project.adapter.connection_named("__test"):
        schema = project.adapter.Relation.create(schema=project.test_schema)
        found = project.adapter.list_relations_without_caching(schema)
    return {relation.identifier: str(relation.type) for relation in found}


@pytest.fixture(scope="class")
def profile_user() -> str:
    """The owner of what is built: a profile of ours names no user."""
    return getpass.getuser()


@pytest.fixture(scope="class")
def dbt_profile_target(dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
    return {**dbt_profile_target, "threads": 4}
