"""What tables of the reference project must hold: by DuckDB's own reader, from the landed files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from functional import delta_rs
from functional.project.reference import Reference
from functional.runner import REPO

EDITS_COLUMNS = """
    event_id, cast(edited_at as varchar) as edited_at, channel, page, namespace, user_name,
    comment, is_robot, is_new, is_anonymous, country_code, added, deleted, delta
"""
# As the lines landed: the first of each id.
_EDITS = f"""
    with lines as (
        select *, "time" as edited_at, "user" as user_name, isRobot as is_robot, isNew as is_new,
            isAnonymous as is_anonymous, countryIsoCode as country_code
        from read_json({{}}, format = 'newline_delimited', columns = {{{{
            event_id: 'varchar', "time": 'timestamp', channel: 'varchar', page: 'varchar',
            namespace: 'varchar', "user": 'varchar', comment: 'varchar', isRobot: 'boolean',
            isNew: 'boolean', isAnonymous: 'boolean', countryIsoCode: 'varchar',
            added: 'bigint', deleted: 'bigint', delta: 'bigint' }}}})
    )
    select distinct {EDITS_COLUMNS} from lines
"""
_SEEDS = ", ".join(
    f"{name} as (from '{REPO}/seeds/{name}.csv')" for name in ("airlines", "airports")
)
_MARTS = {
    "delays_by_carrier_hour": """
        select f.carrier, a.name as airline, hour(f.sched_dep_at) as scheduled_hour,
            count(*) as flights, count(*) filter (f.status = 'diverted') as diverted,
            round(avg(f.dep_delay), 1) as mean_dep_delay,
            round(avg(f.arr_delay), 1) as mean_arr_delay,
            round(count(*) filter (f.arr_delay > 15) / count(*), 3) as share_late
        from flights as f left join airlines as a on a.carrier = f.carrier group by all
    """,
    "destinations": """
        select f.dest as airport, a.name as airport_name, a.tzone as time_zone,
            count(*) as flights, cast(min(f.flight_date) as date) as first_day,
            cast(max(f.flight_date) as date) as last_day, round(avg(f.distance)) as mean_miles,
            round(avg(f.arr_delay), 1) as mean_arr_delay
        from flights as f left join airports as a on a.faa = f.dest group by all
    """,
    "edits_by_hour": """
        select date_trunc('hour', cast(edited_at as timestamp)) as edited_hour, channel,
            count(*) as edits, count(*) filter (is_robot) as robot_edits,
            count(distinct user_name) as users, sum(added) as characters_added,
            sum(deleted) as characters_deleted
        from edits group by all
    """,
}


def edits(files: Sequence[Path]) -> str:
    """The query for the rows of `edits` after these files, of `EDITS_COLUMNS`."""
    return _EDITS.format([str(file) for file in files])


def marts(files: Sequence[Path]) -> dict[str, str]:
    """The query for each mart, after these files of edits, from a view `flights`."""
    return {
        name: f"with {_SEEDS}, edits as ({edits(files)}) {query}" for name, query in _MARTS.items()
    }


def rows(project: Reference, table: str) -> pa.Table:
    """A table as delta-rs reads it."""
    return delta_rs.rows(project.home, project.schema, table)


def assert_holds(actual: pa.Table, columns: str, expected: str, *views: tuple[str, Any]) -> None:
    """The same rows as DuckDB's query on `views`, as often."""
    with duckdb.connect() as connection:
        for name, frame in (*views, ("actual", actual)):
            connection.register(name, frame)
        ours = f"select {columns} from actual"
        assert connection.sql(f"({ours}) except all ({expected})").fetchall() == []
        assert connection.sql(f"({expected}) except all ({ours})").fetchall() == []
