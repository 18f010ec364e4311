"""Ranges on every type, over values that are awkward to write down: no match is ever lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# What never changes for a key, as Spark SQL over `id` from 0 to 79; a few ids get the odd values.
COLUMNS = {
    "c_tinyint": "cast(id - 40 as tinyint)",
    "c_bigint": "case id when 3 then -9223372036854775808L when 70 then 9223372036854775807L"
    " else id * 1000000007L end",
    "c_double": "case id when 3 then double('-Infinity') when 70 then double('NaN')"
    " when 71 then double('Infinity') when 5 then -0.0D when 6 then 0.0D else id / 7.0D end",
    "c_float": "case id when 70 then float('NaN') else cast(id / 7.0D as float) end",
    "c_decimal": "cast(id as decimal(38,18)) * 1.000000000000000001BD",
    "c_date": "case id when 3 then date'0001-01-01' else date_add(date'2024-02-20', id) end",
    "c_timestamp": "case id when 70 then timestamp'9999-12-31 23:59:59.999999'"
    " else timestamp_micros(1710057600000000 + id * 900000001L) end",
    "c_ntz": "timestamp_ntz'2024-03-10 01:59:59.999999' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "c_string": "case id when 3 then '' when 5 then '\\' or 1=1 --' when 6 then '${x}%'"
    " when 70 then concat('😀', chr(10), char(92)) when 71 then char(0)"
    " else concat(repeat('p', 40), lpad(id, 3, '0')) end",
    "c_object_id": "lower(concat(hex(1700000000 + id * 90000), lpad(hex(id), 16, '0')))",
}
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', meta={
    'alluvium_merge': {'order_by': 'lsn', 'delete_when': 'gone', 'ranges':
        dict({'k': 4} if var('method') == 'gaps' else {},
             column=var('column'), method=var('method')) if var('column', none) else false}
}) }}
select * from {{ target.schema }}.pending
"""


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any]) -> Any:
    made = make_project("types", {"models/wide.sql": MODEL})
    made.session.sql("create schema if not exists types")
    # Several files, each with neighbouring ids.
    for first in range(0, 80, 10):
        stage(made, f"id between {first} and {first + 8}", lsn=1)
        made.dbt("run")
    return made


def stage(project: Any, where: str, lsn: int, lacking: str = "false") -> None:
    """The batch: rows of these ids; where `lacking`, deletes with the key alone."""
    columns = ", ".join(f"if({lacking}, null, {sql}) as {name}" for name, sql in COLUMNS.items())
    project.session.sql(
        f"create or replace table {project.schema}.pending using delta as"
        f" select id, {lsn}L as lsn, {lacking} as gone, {columns}"
        f" from (select cast(id as int) as id from range(80)) where {where}"
    )


@pytest.fixture(scope="module")
def base(project: Any) -> int:
    """The version of the table before the first case."""
    return project.versions("wide") - 1


@pytest.mark.parametrize("method", ["min_max", "gaps"])
@pytest.mark.parametrize("column", COLUMNS)
def test_every_match_is_found(project: Any, base: int, column: str, method: str) -> None:
    # Merges fuse the files they touch: every case starts from the same eight.
    project.session.sql(f"restore table types.wide to version as of {base}")
    lsn = 2
    stage(project, "id in (3, 5, 6, 33, 49, 70, 71)", lsn)
    project.dbt("run", "--vars", f"{{column: {column}, method: {method}}}")
    touched = project.sql(f"select id from {{s}}.wide where lsn = {lsn}")["id"].tolist()
    assert sorted(touched) == [3, 5, 6, 33, 49, 70, 71]
    count = project.sql("select count(*) as n, count(distinct id) as ids from {s}.wide")
    assert count["n"][0] == count["ids"][0]

    # Two keys side by side and a delete without the column: most files stay unread.
    stage(project, "id in (33, 34, 35)", lsn + 1, lacking="id = 35")
    project.dbt("run", "--vars", f"{{column: {column}, method: {method}}}")
    figures = project.figures("wide")
    assert figures["rows_affected"] == 3
    if column != "c_string":  # a prefix of 32 characters tells these strings not apart
        assert figures["files_kept"] < figures["files_total"]
