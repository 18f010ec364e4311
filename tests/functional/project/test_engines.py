"""Other engines read the tables as Spark does: delta-rs, and DuckDB on top."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError
from functional.delta_rs import by_query
from functional.project.reference import Reference, groups
from oracle.flights import replay_duckdb

from alluvium.demo.edits import replay_edits

pytestmark = pytest.mark.spark
LIVE = "select * from {} where not coalesce(_deleted, false)"
# Delta computes `landed_at_day` of it, which the model does not select.
BUCKETS = """
{{ config(materialized='table', meta={'alluvium_layout': {
    'sort_by': 'flight', 'bucket_by': {'column': 'landed_at', 'window': 'day'}}}) }}
select carrier, flight, dep_at as landed_at from {{ ref('flights') }} as flights
"""
# The page's way to switch off what delta-rs refuses, for a folder.
OFF = "    +tblproperties: {delta.enableDeletionVectors: 'false'}\n"


def rows(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=repr)


def location(project: Reference, table: str) -> str:
    return str(project.sql(f"describe detail {{s}}.{table}")["location"][0])


def spark_rows(project: Reference, table: str, where: str = "true") -> list[Any]:
    query = f"select * from {project.schema}.{table} where {where}"
    return rows(project.session.sql(query).toArrow())


@pytest.fixture(scope="module")
def batches(replayed: Callable[[int], list[Path]]) -> list[list[Path]]:
    return groups(replayed(2), 3, seed=2)


@pytest.fixture(scope="module")
def fed(make_reference: Callable[..., Reference], batches: list[list[Path]]) -> Reference:
    project = make_reference()
    config = (project.root / "dbt_project.yml").read_text()
    project.write(
        {
            "dbt_project.yml": config.replace("    edits:\n", "    edits:\n  " + OFF, 1),
            "models/marts/buckets.sql": BUCKETS,
        }
    )
    replay_edits(project.landing.parent, 6, duplicate_rate=0.05)
    project.land(batches[0])
    project.run("edits_events", "edits")
    project.land(batches[1])
    project.run("buckets")
    return project


def test_the_same_rows(fed: Reference) -> None:
    for name in ("flights_events", "flights_batch", "edits_events", "edits", "buckets"):
        table = DeltaTable(location(fed, name)).to_pyarrow_table()
        assert rows(table) == spark_rows(fed, name) != [], name
    assert "landed_at_day" in fed.table("buckets")


def test_merged_tables_as_they_are(fed: Reference, batches: list[list[Path]]) -> None:
    """With deletion vectors: what Arrow refuses, queries read; DuckDB goes on from their result."""
    for name in ("flights", "flights_rejected"):
        table = DeltaTable(location(fed, name))
        with pytest.raises(DeltaProtocolError, match="deletionVectors"):
            table.to_pyarrow_dataset()
        assert rows(by_query(table)) == spark_rows(fed, name) != [], name
    table = DeltaTable(location(fed, "flights"))
    live = rows(by_query(table, LIVE.format("t")))
    assert live == spark_rows(fed, "flights", "not coalesce(_deleted, false)")
    *_, expected = replay_duckdb(batches[:2])
    assert len(live) == len(expected.live)
    metrics = [dict(m) for m in fed.sql("describe history {s}.flights")["operationMetrics"]]
    assert any(int(m.get("numTargetDeletionVectorsAdded", 0)) for m in metrics)


@pytest.mark.slow
def test_flights_without_deletion_vectors(fed: Reference, batches: list[list[Path]]) -> None:
    """Rid of them as the page says, its next merge rewrites files and Arrow reads the table."""
    config = (fed.root / "dbt_project.yml").read_text()
    fed.write({"dbt_project.yml": config.replace("    flights:\n", OFF + "    flights:\n", 1)})
    rid_of_vectors(fed, "flights")
    fed.land(batches[2])
    fed.run()
    flights = DeltaTable(location(fed, "flights")).to_pyarrow_dataset()
    assert rows(flights.to_table()) == spark_rows(fed, "flights")
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.register("flights", flights)
        live = connection.sql(LIVE.format("flights")).to_arrow_table()
    assert rows(live) == spark_rows(fed, "flights", "not coalesce(_deleted, false)")
    *_, expected = replay_duckdb(batches)
    assert live.num_rows == len(expected.live)
    assert len(expected.tombstones) > 0


def rid_of_vectors(project: Reference, name: str) -> None:
    table = f"{project.schema}.{name}"
    for statement in (
        f"alter table {table} set tblproperties ('delta.enableDeletionVectors' = 'false')",
        f"reorg table {table} apply (purge)",
        f"alter table {table} drop feature deletionVectors",
    ):
        project.session.sql(statement)


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
    assert rows(by_query(table)) == expected

    rid_of_vectors(fed, "vectors")
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
    assert rows(by_query(table)) == spark_rows(fed, "mapped") != []
