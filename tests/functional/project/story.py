"""The days of `runways` landed and built one by one, and what readers see after each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.project.reference import Reference
from oracle import runways

from alluvium.demo.runways import read_publishes

QUERY = f"select {', '.join(runways.IMAGE.names)} from {{}} order by id"
# Of each day, the data's version that it ends with, and the one that readers see. That of the
# second day has lost all rows.
DAYS = {"2025-01-30": (1006, 1006), "2025-01-31": (1008, 1006), "2025-02-01": (1009, 1009),
        "2025-02-02": (1010, 1010)}  # fmt: skip


def land(folder: Path, day: str, every: int) -> None:
    """The publishes of a day as `alluvium-replay` lands them, of every so many runways."""
    for publish in read_publishes():
        if publish.file.startswith(day):
            kept = publish.changes[publish.changes["id"] % every == 0]
            file = folder / "runways" / publish.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(replace(publish, changes=kept).content())


def as_of(version: int, every: int) -> pa.Table:
    """By pandas over the data, without anything of ours."""
    table = runways.as_of(version)
    ids = table["id"].to_numpy()
    return table.filter(pc.equal(pa.array(ids % every), 0))


def seen(project: Reference) -> pa.Table:
    """What readers see, by Spark and by delta-rs, which must agree."""
    table = f"{project.schema}.runways"
    place = project.sql(f"describe detail {table}")["location"][0].removeprefix("file:")
    by_spark = project.session.sql(QUERY.format(table)).toArrow().cast(runways.IMAGE)
    by_rs = by_query(DeltaTable(place), QUERY.format("t")).cast(runways.IMAGE)
    assert by_rs.equals(by_spark)
    return by_rs


def replay(project: Reference, every: int) -> None:
    """Each day's build publishes, but for the one of the bad publish: readers keep what they saw.

    every: of so many runways one lands.
    """
    live = "select count(*) as n from {s}.runways_wap where not coalesce(_deleted, false)"
    for day, (newest, shown) in DAYS.items():
        land(project.landing.parent, day, every)
        done = project.try_dbt("build", "--select", "+runways")
        assert done.exception is None
        status = {one.node.name: str(one.status) for one in done.result}
        assert project.sql(live)["n"][0] == as_of(newest, every).num_rows
        if newest != shown:
            assert not done.success
            assert status.pop("runways") == "skipped"
            assert status.pop("alluvium_rows_kept_runways_wap_0_9") == "fail"
        assert set(status.values()) == {"success", "pass"}
        assert seen(project).equals(as_of(shown, every))
