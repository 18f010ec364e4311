"""Other engines read the tables as Spark does: delta-rs, and DuckDB on top."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaProtocolError
from functional.project.reference import Reference, groups
from oracle.flights import replay_duckdb

pytestmark = pytest.mark.spark
LIVE = "select * from flights where not coalesce(_deleted, false)"


def rows(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=repr)


def location(project: Reference, table: str) -> str:
    return str(project.sql(f"describe detail {{s}}.{table}")["location"][0])


def spark_rows(project: Reference, table: str, where: str = "true") -> list[Any]:
    query = f"select * from {project.schema}.{table} where {where}"
    return rows(project.session.sql(query).toArrow())


def by_query(table: DeltaTable) -> list[Any]:
    found = QueryBuilder().register("t", table).execute("select * from t").read_all()
    return rows(pa.table(found))


@pytest.fixture(scope="module")
def fed(
    make_reference: Callable[..., Reference], replayed: Callable[[int], list[Path]]
) -> Reference:
    project = make_reference()
    # The page's way to switch off what delta-rs refuses.
    config = (project.root / "dbt_project.yml").read_text()
    off = "    +tblproperties: {delta.enableDeletionVectors: 'false'}\n    flights:\n"
    project.write({"dbt_project.yml": config.replace("    flights:\n", off, 1)})
    for batch in groups(replayed(2), 2, seed=2):
        project.land(batch)
        project.run()
    return project


def test_the_same_rows(fed: Reference) -> None:
    for name in ("flights_events", "flights_batch", "flights", "flights_rejected"):
        table = DeltaTable(location(fed, name)).to_pyarrow_table()
        assert rows(table) == spark_rows(fed, name) != [], name


def test_live_rows_in_duckdb(fed: Reference, replayed: Callable[[int], list[Path]]) -> None:
    flights = DeltaTable(location(fed, "flights")).to_pyarrow_dataset()  # noqa: F841 - DuckDB's
    duckdb.sql("set timezone = 'UTC'")
    live = duckdb.sql(LIVE).fetch_arrow_table()
    assert rows(live) == spark_rows(fed, "flights", "not coalesce(_deleted, false)")
    (expected,) = replay_duckdb([replayed(2)])
    assert live.num_rows == len(expected.live)
    assert len(expected.tombstones) > 0


def test_deletion_vectors(fed: Reference) -> None:
    """What docs/other-engines.md says of them: who refuses, who reads, how to be rid of them."""
    schema, session = fed.schema, fed.session
    session.sql(
        f"create table {schema}.vectors using delta"
        " tblproperties ('delta.enableDeletionVectors' = 'true')"
        " as select id from range(0, 1000, 1, 1)"
    )
    session.sql(f"delete from {schema}.vectors where id % 10 = 0")
    expected = spark_rows(fed, "vectors")
    assert len(expected) == 900
    table = DeltaTable(location(fed, "vectors"))
    with pytest.raises(DeltaProtocolError, match="deletionVectors"):
        table.to_pyarrow_table()
    assert by_query(table) == expected

    session.sql(
        f"alter table {schema}.vectors set tblproperties ('delta.enableDeletionVectors' = 'false')"
    )
    session.sql(f"reorg table {schema}.vectors apply (purge)")
    session.sql(f"alter table {schema}.vectors drop feature deletionVectors")
    table = DeltaTable(location(fed, "vectors"))
    assert rows(table.to_pyarrow_table()) == spark_rows(fed, "vectors") == expected


def test_column_mapping(fed: Reference) -> None:
    """The one that docs/other-engines.md warns of: as Arrow every value is NULL, without a word."""
    fed.session.sql(
        f"create table {fed.schema}.mapped using delta"
        " tblproperties ('delta.columnMapping.mode' = 'name') as select id from range(10)"
    )
    table = DeltaTable(location(fed, "mapped"))
    assert table.to_pyarrow_table()["id"].null_count == 10
    assert by_query(table) == spark_rows(fed, "mapped") != []
