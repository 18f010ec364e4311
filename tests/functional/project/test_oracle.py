"""The reference project, batch after batch, against DuckDB and pandas on the same landed files.

Other engines then read its tables as Spark does: delta-rs, and DuckDB on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError
from functional.delta_rs import by_query
from functional.project.reference import ENGINES, METHODS, Reference, given_seed, groups
from oracle.flights import Delete, replay_duckdb, replay_pandas

from alluvium.demo.edits import replay_edits

pytestmark = pytest.mark.spark
Make = Callable[..., Reference]
Replayed = Callable[[int], list[Path]]
LIVE = "select * from {} where not coalesce(_deleted, false)"
# Delta computes `landed_at_day` of it, which the model does not select.
BUCKETS = """
{{ config(materialized='table', meta={'alluvium_layout': {
    'sort_by': 'flight', 'bucket_by': {'column': 'landed_at', 'window': 'day'}}}) }}
select carrier, flight, dep_at as landed_at from {{ ref('flights') }} as flights
"""
# The page's way to switch off what delta-rs refuses, for a folder.
OFF = "    +tblproperties: {delta.enableDeletionVectors: 'false'}\n"


# The methods of the batches; so small a table is read sooner than ranges are planned.
TURNS = {"kmeans": "kmeans", "cover": "cover", "auto": "none"}


@dataclass
class Turn:
    """A batch that was merged: its method, and what was there then."""

    method: str
    engine: str
    flights: pd.DataFrame
    planned: str
    figures: dict[str, Any]


@dataclass
class Fed:
    """The reference project after a few batches; the last of `batches` has not landed."""

    project: Reference
    batches: list[list[Path]]
    turns: list[Turn] = field(default_factory=list)


@pytest.fixture(scope="module")
def run(make_reference: Make, replayed: Replayed) -> Fed:
    project = make_reference()
    config = (project.root / "dbt_project.yml").read_text()
    project.write(
        {
            "dbt_project.yml": config.replace("    edits:\n", "    edits:\n  " + OFF, 1),
            "models/marts/buckets.sql": BUCKETS,
        }
    )
    replay_edits(project.landing.parent, 6, duplicate_rate=0.05)
    made = Fed(project, groups(replayed(5), 4, seed=5))
    engines = cycle(ENGINES)
    for batch, method in zip(made.batches, TURNS, strict=False):
        engine = next(engines)
        project.plan_by(method, engine=engine)
        project.land(batch)
        project.run(*([] if made.turns else ["edits_events", "edits"]))
        planned = str(project.sql("select max(method) m from {s}.flights_ranges")["m"][0])
        figures = project.figures("flights")
        made.turns.append(Turn(method, engine, project.table("flights"), planned, figures))
    return made


@pytest.fixture
def fed(run: Fed) -> Reference:
    return run.project


def test_methods_taking_turns(run: Fed) -> None:
    project, landed = run.project, run.batches[:-1]
    expected = zip(replay_duckdb(landed), replay_pandas(landed), strict=True)
    for turn, (one, other) in zip(run.turns, expected, strict=True):
        project.check(one, turn.flights)
        project.check(other, turn.flights)
        if turn.method != "none":
            assert turn.planned == TURNS[turn.method]
        assert turn.figures["method"] == TURNS[turn.method]
        assert turn.figures["engine"] == ENGINES[turn.engine]
    project.check_lines()
    kept = project.sql("select count(*) n from {s}.flights_parsed where reject_reason is null")
    bronze, rejected = project.table("flights_events"), project.table("flights_rejected")
    assert len(bronze) == kept["n"][0] + len(rejected) > 10_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "delete"), [*((method, "soft") for method in METHODS), ("kmeans", "hard")]
)
def test_every_batch_of_a_quarter(
    make_reference: Make, replayed: Replayed, method: str, delete: Delete
) -> None:
    seed = given_seed("tests/functional/project/test_oracle.py")
    project = make_reference()
    engines = cycle(ENGINES)
    batches = groups(replayed(76), 31, seed)
    oracle: Any = replay_duckdb if delete == "soft" else replay_pandas
    for place, (batch, expected) in enumerate(zip(batches, oracle(batches, delete), strict=True)):
        project.plan_by(method, delete, next(engines))
        project.land(batch)
        project.run()
        project.check(expected)
        print(place, project.figures("flights"))
    project.check_lines()
    lines = sum(len(file.read_text().splitlines()) for file in project.landed)
    assert lines >= 200_000


# Other engines --------------------------------------------------------------------------------


def rows(table: pa.Table) -> list[Any]:
    return sorted(table.to_pylist(), key=repr)


def location(project: Reference, table: str) -> str:
    return str(project.sql(f"describe detail {{s}}.{table}")["location"][0])


def spark_rows(project: Reference, table: str, where: str = "true") -> list[Any]:
    query = f"select * from {project.schema}.{table} where {where}"
    return rows(project.session.sql(query).toArrow())


def test_the_same_rows(fed: Reference) -> None:
    fed.dbt("run", "--select", "buckets")
    for name in ("flights_events", "flights_batch", "edits_events", "edits", "buckets"):
        table = DeltaTable(location(fed, name)).to_pyarrow_table()
        assert rows(table) == spark_rows(fed, name) != [], name
    assert "landed_at_day" in fed.table("buckets")


def test_merged_tables_as_they_are(run: Fed, fed: Reference) -> None:
    """With deletion vectors: what Arrow refuses, queries read; DuckDB goes on from their result."""
    for name in ("flights", "flights_rejected"):
        table = DeltaTable(location(fed, name))
        with pytest.raises(DeltaProtocolError, match="deletionVectors"):
            table.to_pyarrow_dataset()
        assert rows(by_query(table)) == spark_rows(fed, name) != [], name
    table = DeltaTable(location(fed, "flights"))
    live = rows(by_query(table, LIVE.format("t")))
    assert live == spark_rows(fed, "flights", "not coalesce(_deleted, false)")
    *_, expected = replay_duckdb(run.batches[:-1])
    assert len(live) == len(expected.live)
    metrics = [dict(m) for m in fed.sql("describe history {s}.flights")["operationMetrics"]]
    assert any(int(m.get("numTargetDeletionVectorsAdded", 0)) for m in metrics)


@pytest.mark.slow
def test_flights_without_deletion_vectors(run: Fed, fed: Reference) -> None:
    """Rid of them as the page says, its next merge rewrites files and Arrow reads the table."""
    config = (fed.root / "dbt_project.yml").read_text()
    fed.write({"dbt_project.yml": config.replace("    flights:\n", OFF + "    flights:\n", 1)})
    rid_of_vectors(fed, "flights")
    fed.land(run.batches[-1])
    fed.run()
    flights = DeltaTable(location(fed, "flights")).to_pyarrow_dataset()
    assert rows(flights.to_table()) == spark_rows(fed, "flights")
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        connection.register("flights", flights)
        live = connection.sql(LIVE.format("flights")).to_arrow_table()
    assert rows(live) == spark_rows(fed, "flights", "not coalesce(_deleted, false)")
    *_, expected = replay_duckdb(run.batches)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_column_mapping(fed: Reference) -> None:
    """The one that docs/other-engines.md warns of: as Arrow every value is NULL, without a word."""
    fed.session.sql(
        f"create table {fed.schema}.mapped using delta"
        " tblproperties ('delta.columnMapping.mode' = 'name') as select id from range(10)"
    )
    table = DeltaTable(location(fed, "mapped"))
    assert table.to_pyarrow_table()["id"].null_count == 10
    assert rows(by_query(table)) == spark_rows(fed, "mapped") != []


def test_nothing_new_is_no_commit(fed: Reference) -> None:
    """The last one: it stages an empty batch."""
    names = ("flights_events", "flights_rejected", "flights")
    versions = [fed.versions(name) for name in names]
    fed.run()
    assert [fed.versions(name) for name in names] == versions
