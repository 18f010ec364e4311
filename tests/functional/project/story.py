"""The days of `runways` landed and built one by one, and what readers see after each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from functional.delta_rs import by_query, folder_of
from functional.project.reference import Reference
from oracle import runways

from alluvium.demo.runways import read_publishes

QUERY = f"select {', '.join(runways.IMAGE.names)} from {{}} order by id"
# Of each day, the data's version that it ends with, and the one that readers see. That of the
# second day has lost all rows.
DAYS = {"2025-01-30": (1006, 1006), "2025-01-31": (1008, 1006), "2025-02-01": (1009, 1009),
        "2025-02-02": (1010, 1010)}  # fmt: skip


def land(folder: Path, days: Iterable[str], every: int) -> None:
    """The publishes of days as `alluvium-replay` lands them, of every so many runways."""
    for publish in read_publishes():
        if publish.file.startswith(tuple(days)):
            kept = publish.changes[publish.changes["id"] % every == 0]
            file = folder / "runways" / publish.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(replace(publish, changes=kept).content())


@cache
def as_of(version: int, every: int) -> pa.Table:
    """By pandas over the data, without anything of ours."""
    table = runways.as_of(version)
    ids = table["id"].to_numpy()
    return table.filter(pc.equal(pa.array(ids % every), 0))


def seen(project: Reference) -> pa.Table:
    """What readers see, by Spark and by delta-rs, which must agree."""
    place = folder_of(project.home, project.schema, "runways")
    by_spark = project.session.sql(QUERY.format(f"{project.schema}.runways"))
    by_rs = by_query(DeltaTable(place), QUERY.format("t")).cast(runways.IMAGE)
    assert by_rs.equals(by_spark.toArrow().cast(runways.IMAGE))
    return by_rs


def check(project: Reference, day: str, every: int) -> None:
    """After the build of a day: what the candidate holds, and what readers see."""
    newest, shown = DAYS[day]
    live = "select count(*) as n from {s}.runways_wap where not coalesce(_deleted, false)"
    assert project.read(live)["n"][0] == as_of(newest, every).num_rows
    assert seen(project).equals(as_of(shown, every))


def replay(project: Reference, every: int, *builds: tuple[str, ...]) -> None:
    """Each build of days publishes, but for the one of the bad publish: readers keep what they saw.

    every: of so many runways one lands.
    builds: the days that land before each; a day a build without them.
    """
    for days in builds or [(day,) for day in DAYS]:
        land(project.landing.parent, days, every)
        done = project.try_dbt("build", "--select", "+runways")
        assert done.exception is None
        status = {one.node.name: str(one.status) for one in done.result}
        newest, shown = DAYS[days[-1]]
        if newest != shown:
            assert not done.success
            assert status.pop("runways") == "skipped"
            assert status.pop("alluvium_rows_kept_runways_wap_0_9") == "fail"
        assert set(status.values()) == {"success", "pass"}
        check(project, days[-1], every)
