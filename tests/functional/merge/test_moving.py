"""A batch whose tables another writer changes between the look at it and its merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from functional.merge.conftest import merged

from alluvium.delta.merge import batch
from dbt.adapters.alluvium.merges import MergePlan, Planner

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SOURCES = """
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: stage}, {name: other}]
"""
STAGE = "select id, op, lsn from {{ source('raw', 'stage') }}"
WHERE = {
    "plain": "",
    "own": " {% if is_incremental() %} where lsn >"
    " (select coalesce(max(lsn), 0) from {{ this }}) {% endif %}",
    "sub": " where id in (select id from {{ source('raw', 'other') }})",
}


@pytest.fixture(scope="module")
def project(make_project: Any) -> Any:
    meta = {"order_by": "lsn", "delete_when": "op = 'd'"}
    models = {f"models/{name}.sql": merged(meta, STAGE + more) for name, more in WHERE.items()}
    made = make_project("moving", {"models/sources.yml": SOURCES, **models})
    made.session.sql("create schema if not exists moving")
    return made


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("model", WHERE)
def test_each_reader_sees_the_rows_that_were_looked_at(
    project: Any, monkeypatch: pytest.MonkeyPatch, model: str, kept: bool
) -> None:
    if not kept:  # as a batch of more than 1 GiB
        monkeypatch.setattr(batch, "_KEPT", -1)
    for table in ("stage", "other"):
        made = f"create or replace table moving.{table} (id int, op string, lsn int) using delta"
        project.session.sql(made)
        project.session.sql(f"insert into moving.{table} select id, 'c', id from range(1, 4)")
    project.dbt("run", "-s", model, "--full-refresh")
    project.session.sql("insert overwrite moving.stage values (2, 'u', 10)")
    looked: list[MergePlan] = []
    plan = Planner.plan

    def moving(self: Planner, keep: Callable[[], None]) -> MergePlan:
        looked.append(plan(self, keep))
        if len(looked) == 1:
            more = "insert into moving.{} values (1, 'd', 12), (3, 'u', 13)"
            project.session.sql(more.format("stage"))
            project.session.sql(more.format("other"))
        return looked[-1]

    monkeypatch.setattr(Planner, "plan", moving)
    project.dbt("run", "-s", model)
    assert rows(project, model) == [(1, 1, False), (2, 10, False), (3, 3, False)]
    project.dbt("run", "-s", model)
    assert rows(project, model) == [(1, 12, True), (2, 10, False), (3, 13, False)]


def rows(project: Any, model: str) -> list[tuple[int, int, bool]]:
    found = project.read(f"select id, lsn, _deleted from {{s}}.{model} order by id, lsn")
    return list(found.itertuples(index=False, name=None))
