"""Feeds that are written from a sample are built, with their tests, for each form of events.

A project of its own: the bronze tables of the forms, which no other project has.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from functional.runner import Project
from functional.stream import change_event_cases as cases
from unit.feeds import samples

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_feed_of_each_form_is_built(make_project: Callable[..., Project]) -> None:
    names = {form: form.replace(" ", "_") for form in samples.BUILT}
    source = "select * from {{ source('raw', '%s') }}"
    tables = ", ".join(f"{{name: {name}_bronze}}" for name in names.values())
    project = make_project(
        "generated",
        {
            "models/sources.yml": "sources: [{name: raw, schema: generated,"
            f" tables: [{tables}]}}]",
            **{f"models/{one}_events.sql": source % f"{one}_bronze" for one in names.values()},
        },
    )
    project.session.sql("create schema generated")
    for form, name in names.items():
        events, _, _ = samples.BUILT[form]
        rows = [(None, e, None, "orders-0", i, None, 1) for i, e in enumerate(events)]
        frame = project.session.createDataFrame(rows, cases.BRONZE)
        frame.write.format("delta").saveAsTable(f"generated.{name}_bronze")
    project.dbt("run")
    merged = {}
    for form, name in names.items():
        # Of several tables it is the one that has the model's name.
        merged[form] = "orders" if form == "one of several" else f"{name}_merged"
        asked = {"source": f"{name}_events", "key": samples.BUILT[form][1], "name": merged[form]}
        project.dbt("run-operation", "alluvium.generate_feed", "--args", json.dumps(asked))
        printed = "\n".join(project.lines)
        asked["write"] = True
        project.dbt("run-operation", "alluvium.generate_feed", "--args", json.dumps(asked))
        for file in (f"{merged[form]}.sql", f"{merged[form]}.yml"):
            assert (project.root / "models" / file).read_text().rstrip() in printed
    results = project.try_dbt("build").result.results
    tests = {one.node.unique_id: one for one in results if one.node.resource_type == "test"}
    assert len(results) - len(tests) == 2 * len(names)
    assert {one.status for one in results if one.node.unique_id not in tests} == {"success"}
    wrong = {
        (one.node.attached_node.split(".")[-1], one.node.test_metadata.name)
        for one in tests.values()
        if one.status != "pass"
    }
    # Half of the events of these two are no rows.
    assert wrong == {(f"{form}_merged", "rejected_share") for form in ("debezium", "json")}
    assert {(merged[form], "unique_key") for form in names} <= {
        (one.node.attached_node.split(".")[-1], one.node.test_metadata.name)
        for one in tests.values()
    }
