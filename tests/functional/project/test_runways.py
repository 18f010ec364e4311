"""A real table's 1,476 versions, fed in groups through a project that has the package installed."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from functional.project import story
from functional.project.reference import ENGINES, METHODS, Reference
from functional.runner import REPO, Project
from oracle import runways

pytestmark = pytest.mark.spark
FOLDER = Path(__file__).with_name("runways")


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 12])
def test_the_last_version(home: Path, tmp_path: Path, number: int) -> None:
    schema = f"runways{number}"
    project = Project(tmp_path / "runways", home, schema)
    shutil.copytree(FOLDER, project.root)
    target = {"type": "alluvium", "schema": schema, "home": str(home), "threads": 1}
    project.write(
        {
            "profiles.yml": yaml.safe_dump({"runways": {"target": "t", "outputs": {"t": target}}}),
            "packages.yml": yaml.safe_dump({"packages": [{"local": str(REPO)}]}),
        }
    )
    project.dbt("deps")
    (project.root / "landing").mkdir()
    turns = itertools.cycle(method for method in reversed(METHODS) if method != "auto")
    engines = itertools.cycle(ENGINES)
    for place, (group, method) in enumerate(zip(runways.groups(number), turns, strict=False)):
        engine = next(engines)
        pq.write_table(group, project.root / f"landing/{place:02}.parquet", row_group_size=20_000)
        ranges: dict[str, Any] = {"column": "id", "method": method, "model": "runways_ranges"}
        if method in ("gaps", "kmeans", "cover"):
            ranges["k"] = 5
        project.dbt("run", "--vars", json.dumps({"ranges": ranges, "engine": engine}))
        # There is no table to look at before the first merge.
        taken = "min_max" if (place, method) == (0, "cover") else method
        assert project.figures("runways")["method"] == taken
        assert (project.figures("runways")["ranges"] == 0) == (method == "none")
        assert project.figures("runways")["engine"] == ENGINES[engine]

    columns = ", ".join(runways.IMAGE.names)
    query = (
        f"select {columns} from {schema}.runways where not coalesce(_deleted, false) order by id"
    )
    assert project.session.sql(query).toArrow().cast(runways.IMAGE).equals(runways.final())
    # `dbt.ref` in a Python model shows no tombstones either.
    live = project.sql("select id from {s}.runways_live")
    assert sorted(live["id"]) == runways.final()["id"].to_pylist()
    rows = project.sql("select count(*) n, count(distinct id) ids from {s}.runways")
    assert rows["n"][0] == rows["ids"][0] == runways.changes()["id"].nunique()


@pytest.mark.slow
def test_a_bad_publish_is_never_seen(make_reference: Callable[..., Reference]) -> None:
    """All 46,604 runways; test_build.py has some of them."""
    assert story.as_of(1006, 1).num_rows == story.as_of(1010, 1).num_rows == 46_604
    assert story.as_of(1008, 1).num_rows == 0
    story.replay(make_reference(), every=1)
