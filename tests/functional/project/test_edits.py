"""The edits feed: what comes twice is merged once, and no file is rewritten for it."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
from functional.project.reference import Reference

from alluvium.demo.edits import replay_edits

pytestmark = pytest.mark.spark
COLUMNS = """
    event_id, cast(edited_at as varchar) as edited_at, channel, page, namespace, user_name,
    comment, is_robot, is_new, is_anonymous, country_code, added, deleted, delta
"""
# As the lines landed: the first of each id, by DuckDB's own reader.
EXPECTED = f"""
    with lines as (
        select *, "time" as edited_at, "user" as user_name, isRobot as is_robot, isNew as is_new,
            isAnonymous as is_anonymous, countryIsoCode as country_code
        from read_json('{{}}/**/*.jsonl', format = 'newline_delimited', columns = {{{{
            event_id: 'varchar', "time": 'timestamp', channel: 'varchar', page: 'varchar',
            namespace: 'varchar', "user": 'varchar', comment: 'varchar', isRobot: 'boolean',
            isNew: 'boolean', isAnonymous: 'boolean', countryIsoCode: 'varchar',
            added: 'bigint', deleted: 'bigint', delta: 'bigint' }}}})
    )
    select distinct {COLUMNS} from lines
"""


def test_edits_are_merged_once(make_reference: Callable[..., Reference]) -> None:
    project = make_reference()
    landing = project.root / ".alluvium/landing"
    known = 0
    for hours in (12, None):
        replay_edits(landing, hours, duplicate_rate=0.05)
        project.dbt("run", "--select", "edits_events", "edits")
        expected = duckdb.sql(EXPECTED.format(landing / "edits"))  # noqa: F841 - DuckDB's
        edits = project.session.table(f"{project.schema}.edits").toArrow()
        in_utc = "select * replace (edited_at at time zone 'UTC' as edited_at) from edits"
        actual = f"select {COLUMNS} from ({in_utc})"
        assert duckdb.sql(f"({actual}) except all (from expected)").fetchall() == []
        assert duckdb.sql(f"(from expected) except all ({actual})").fetchall() == []
        lines = sum(len(path.read_bytes().splitlines()) for path in landing.rglob("*.jsonl"))
        assert project.sql("select count(*) as n from {s}.edits_events")["n"][0] == lines
        assert len(edits) < lines
        # What was known already is no upsert.
        figures = project.figures("edits")
        assert figures["upserts"] == figures["rows_affected"] == len(edits) - known
        known = len(edits)
    metrics = project.sql("describe history {s}.edits")["operationMetrics"][0]
    assert dict(metrics)["numTargetFilesRemoved"] == "0"
