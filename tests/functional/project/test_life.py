"""What happens to a feed in its life: a branch of its own, a clone, a full refresh."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from functional.project.reference import Reference, groups
from oracle.flights import replay_duckdb

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FEED_AND_READER = ("+flights", "flights_rejected", "+destinations")


@pytest.fixture(scope="module")
def batches(replayed: Callable[[int], list[Path]]) -> list[list[Path]]:
    return groups(replayed(3), 3, seed=3)


def test_slim_ci(
    make_reference: Callable[..., Reference],
    batches: list[list[Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = make_reference(schema="{{ env_var('ALLUVIUM_SCHEMA') }}")
    main, branch = f"{project.schema}_main", f"{project.schema}_branch"
    expected = list(replay_duckdb(batches))

    def on(schema: str) -> None:
        project.schema = schema
        monkeypatch.setenv("ALLUVIUM_SCHEMA", schema)

    def tables() -> set[str]:
        return set(project.sql(f"show tables in {branch}")["tableName"])

    on(main)
    project.land(batches[0])
    project.dbt("build", "--exclude-resource-type", "test", "--select", *FEED_AND_READER)
    project.land(batches[1])
    project.dbt("run", "--select", *FEED_AND_READER)
    project.check(expected[1])
    shutil.copytree(project.root / "target", project.root / "state")
    state = ("--state", str(project.root / "state"))
    before = {name: project.versions(name) for name in ("flights", "flights_events")}
    [newest] = project.sql("select max(_batch_id) from {s}.flights_events").iloc[0]

    # A branch that changes a reader builds the reader alone; it reads what main has.
    on(branch)
    reader = project.root / "models/marts/destinations.sql"
    reader.write_text(reader.read_text().replace("count(*) as flights", "count(1) as flights"))
    project.dbt("run", "--select", "state:modified+", "--defer", *state)
    assert tables() == {"destinations"}
    assert project.table("destinations")["flights"].sum() == len(expected[1].live)

    # A branch that changes the merge works on a clone, which goes on where main stands.
    project.dbt("clone", "--select", "+flights", "flights_rejected", *state)
    project.check(expected[1])
    project.run()
    assert project.figures("flights")["events"] == 0
    project.land(batches[2])
    project.run()
    project.check(expected[2])
    project.check_lines()
    # Numbers of ingestions rise; the clone's checkpoint, made anew, may leave one out.
    staged = project.sql("select distinct _batch_after, _batch_through from {s}.flights_batch")
    [(after, through)] = staged.values.tolist()
    assert (after, through > after) == (newest, True)

    on(main)
    assert {name: project.versions(name) for name in before} == before
    project.check(expected[1])
    project.run()
    project.check(expected[2])


def test_full_refresh(make_reference: Callable[..., Reference], batches: list[list[Path]]) -> None:
    project = make_reference()
    *_, before, last = replay_duckdb(batches)
    for batch in batches[:2]:
        project.land(batch)
        project.run()
    project.check(before)

    refused = project.try_dbt("run", "--full-refresh", "--select", "alluvium.flights.flights")
    assert not refused.success
    assert "flights_batch" in str(refused.exception) + "".join(project.lines)
    project.check(before)

    # From bronze as it stands, then from the landing files.
    project.dbt("seed")
    project.dbt("run", "--full-refresh", "--select", "flights_batch+", "flights_rejected")
    project.check(before)
    project.check_lines()
    project.land(batches[2])
    project.dbt("run", "--full-refresh", "--select", "flights_events+")
    project.check(last)
    project.check_lines()
    assert project.table("destinations")["flights"].sum() == len(last.live)
    project.run()
    assert project.figures("flights")["events"] == 0
    project.check(last)


def test_a_mended_parser(
    make_reference: Callable[..., Reference], batches: list[list[Path]]
) -> None:
    """Lines that a parser had refused come in as docs/merge.md says."""
    project = make_reference()
    model = "models/flights/flights_parsed.sql"
    mended = (project.root / model).read_text()
    first = "mistake = 'not_an_envelope' and ("
    broken = mended.replace(first, f"carrier = 'UA' or {first}")
    assert broken != mended
    project.write({model: broken})
    for batch in batches[:2]:
        project.land(batch)
        project.run()
    assert project.sql("select count_if(carrier = 'UA') n from {s}.flights")["n"][0] == 0
    refused = "from {s}.flights_rejected where _value like '%\"UA\"%'"
    window = project.sql(f"select min(_batch_id) lo, max(_batch_id) hi, count(*) n {refused}")
    first, last, lines = window.values.tolist()[0]
    assert lines > 100

    project.write({model: mended})
    project.land(batches[2])
    project.run()
    vars = {"alluvium_backfill": {"flights": {"from_batch": first, "through_batch": last}}}
    project.dbt("seed")
    project.dbt("run", "--select", "flights_batch+", "--vars", json.dumps(vars))
    project.dbt("run", "--select", "flights_rejected", "--full-refresh")
    *_, expected = replay_duckdb(batches)
    project.check(expected)
    project.check_lines()
