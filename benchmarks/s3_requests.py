"""What runs ask of S3, counted at the server: a build with nothing new, and what it is made of.

Run with `make bench-requests`, or `make bench-requests ARGS="--before <commit or folder>"` to put
an earlier version beside this one, in a process of its own and with the same data. The reference
project's landing folders and warehouse are on moto's S3, in one dbt process, and nothing is kept by
`alluvium_reuse`. Requests are counted by kind, and by the operation that S3A names.

    build: `dbt build` with nothing new.
    landing: of these, those of landing folders; and of one stream once FILES files more were read.
    stream, seed, table: a run of one such node with nothing new, its landing apart.
    file: one new landed file, but for what else its stream asks.
    merge: 20,000 rows into 4 files: a batch staged as a table, and the merge with its ranges.

Writes benchmarks/results/requests.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner
from merging.home import REPOSITORY, answers, keep, make_home, provenance
from support import s3
from versions import Version

from alluvium.engine import session as engine

RESULTS = REPOSITORY / "benchmarks" / "results" / "requests.json"
BIN = Path(sys.executable).parent
FILES = 2_000
BARS = {"build": 540, "landing": 20, "stream": 12, "seed": 18, "table": 18, "file": 1, "merge": 85}
MERGED = """
{{ config(materialized='incremental', unique_key='id',
          meta={'alluvium_merge': {'order_by': 'n', 'ranges': {'column': 'id'}}}) }}
select * from {{ ref('batch') }}
"""
BATCH = """
{{ config(materialized='table') }}
select id * {{ var('every') }} + {{ var('shift') }} as id, {{ var('shift') }} as n
from range(0, {{ var('rows') }}, 1, {{ var('files') }})
"""


class Counted:
    """A project on a server, and what its commands ask."""

    def __init__(self, folder: Path, server: s3.S3) -> None:
        self.folder, self.server = folder, server

    def dbt(self, *words: str) -> None:
        folders = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        done = dbtRunner().invoke([*words, *folders, "--quiet"])
        if not done.success:
            raise SystemExit(f"dbt {words} failed: {done.exception or done.result}")

    def counted(self, task: Callable[[], None]) -> list[dict[str, Any]]:
        """The requests of a task."""
        before = len(self._lines())
        task()
        return self._lines()[before:]

    def _lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.server.log.read_text().splitlines()]

    def land(self, local: Path) -> int:
        """Put local files into the landing folder; gives how many."""
        files = [path for path in local.rglob("*") if path.is_file()]
        for path in files:
            place = f"lake/landing/{path.relative_to(local)}"
            with self.server.files().open_output_stream(place) as out:
                out.write(path.read_bytes())
        return len(files)


def kind(request: dict[str, Any]) -> str:
    method, query = request["method"], request["query"]
    return "LIST" if method == "GET" and ("list-type" in query or "prefix=" in query) else method


def of_landing(request: dict[str, Any]) -> bool:
    return "landing/" in f"{request['path']}?{request['query']}"


def row(case: str, requests: list[dict[str, Any]], about: str) -> dict[str, Any]:
    bar = BARS[case.split()[0]]
    return {
        "case": case,
        "about": about,
        "requests": len(requests),
        "kinds": dict(Counter(map(kind, requests)).most_common()),
        "operations": dict(Counter(one["operation"] or "-" for one in requests).most_common()),
        "bar": bar,
        "met": len(requests) <= bar,
    }


def make_project(folder: Path, checkout: Path, server: s3.S3) -> Counted:
    """The reference project of a version, with its profile on S3."""
    subprocess.run(["git", "clone", "--quiet", checkout, folder], check=True)
    home = make_home(folder / ".alluvium")
    spark = {f"spark.hadoop.{key}": value for key, value in server.settings.items()}
    target = {
        "type": "alluvium",
        "schema": "counted",
        "home": str(home),
        "threads": 2,
        "spark_conf": {"spark.sql.warehouse.dir": "s3a://lake/warehouse", **spark},
    }
    profile = {"alluvium": {"target": "s3", "outputs": {"s3": target}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    os.environ["ALLUVIUM_LANDING"] = "s3a://lake/landing"
    return Counted(folder, server)


def make_merge(folder: Path, checkout: Path, profiles: Path) -> None:
    """A project of its own with a batch and a merged table."""
    (folder / "models").mkdir(parents=True)
    (folder / "profiles.yml").symlink_to(profiles)
    config = {"name": "merging", "profile": "alluvium"}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(config))
    package = {"packages": [{"local": str(checkout)}]}
    (folder / "packages.yml").write_text(yaml.safe_dump(package))
    (folder / "models" / "batch.sql").write_text(BATCH)
    (folder / "models" / "items.sql").write_text(MERGED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="commit, or folder with one checked out")
    parser.add_argument("--after", default="HEAD", help="the same; default: HEAD")
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--hours", type=int, default=6)
    parser.add_argument("--serve", type=Path, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        # dbt's own words are no answers.
        lines = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)
        for found in serve(*given.serve):
            print(json.dumps(found), file=lines)
        return
    with tempfile.TemporaryDirectory(
        prefix="alluvium-requests-", ignore_cleanup_errors=True
    ) as name:
        local = Path(name) / "landing"
        for words in (
            ("flights", "--days", str(given.days)),
            ("edits", "--hours", str(given.hours)),
            ("runways", "--from", "2025-01-30"),
        ):
            command = [BIN / "alluvium-replay", *words, "--landing", str(local)]
            subprocess.run(command, check=True, capture_output=True)
        for when, commit in {"before": given.before, "after": given.after}.items():
            if commit:
                measure(Version.clone(commit, Path(name) / when), when, local)


def measure(version: Version, when: str, local: Path) -> None:
    """The figures of a version, in a process that imports nothing of another one."""
    folder = local.with_name(f"{when}-work")
    folder.mkdir()
    served = [str(one) for one in (version.folder, folder, local)]
    # The server is this version's for both.
    paths = os.pathsep.join([version.environment["PYTHONPATH"], str(REPOSITORY / "tests")])
    environment = {**version.environment, "PYTHONPATH": paths}
    command = [sys.executable, __file__, "--serve", *served]
    for found in answers(command, version.commit, environment):
        # HEAD keeps the name that figures of it had.
        contender = "alluvium" if when == "after" else version.commit
        keep(RESULTS, [{**found, "contender": contender, **provenance()}])
        text = f"{found['case']}: {found['requests']} {found['kinds']}, bar {found['bar']}"
        print(f"{version.commit}: {text}", flush=True)


def serve(checkout: Path, folder: Path, local: Path) -> Iterator[dict[str, Any]]:
    """The figures of the version that this process imports, by the landed files of a folder."""
    if not Path(str(engine.__file__)).is_relative_to(checkout):
        raise SystemExit(f"{engine.__file__} is not of {checkout}")
    with s3.server(folder, "lake") as server:
        made = make_project(folder / "project", checkout, server)
        landed = made.land(local)
        try:
            yield from reference(made, landed, folder)
            merging = Counted(folder / "merging", server)
            make_merge(merging.folder, checkout, made.folder / "profiles.yml")
            yield merge(merging)
        finally:
            engine.stop()


def reference(made: Counted, landed: int, folder: Path) -> Iterator[dict[str, Any]]:
    all_nodes = ("--vars", "{alluvium_reuse: false}")
    build = ("build", *all_nodes)
    for _ in range(2):
        made.dbt(*build)
    found = made.counted(lambda: made.dbt(*build))
    yield row("build", found, f"{landed} landed files")
    yield row("landing", [one for one in found if of_landing(one)], f"{landed} landed files")

    def alone(*words: str) -> list[dict[str, Any]]:
        """What a command with one node asks, its second time."""
        words = (*words, *all_nodes)
        made.dbt(*words)
        return [one for one in made.counted(lambda: made.dbt(*words)) if not of_landing(one)]

    yield row("stream", alone("run", "--select", "edits_events"), "edits_events")
    yield row("seed", alone("seed", "--select", "airlines"), "airlines")
    yield row("table", alone("run", "--select", "destinations"), "destinations")

    def one_more(number: int) -> list[dict[str, Any]]:
        own = folder / f"more-{number}"
        path = own / "edits" / f"9999-{number}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("{}\n")
        made.land(own)
        name = path.name
        asked = made.counted(lambda: made.dbt("run", "--select", "edits_events"))
        return [one for one in asked if name in f"{one['path']}?{one['query']}"]

    one_more(0)
    asked = one_more(1)
    # The GET that brings the events is not counted.
    gets = [one for one in asked if kind(one) == "GET"]
    yield row("file", [one for one in asked if one not in gets[:1]], "but for its events' bytes")
    many = folder / "many"
    for number in range(FILES):
        path = many / "edits" / f"day-{number % 20}" / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    made.land(many)
    made.dbt("run", "--select", "edits_events")
    asked = made.counted(lambda: made.dbt("run", "--select", "edits_events"))
    yield row(
        f"landing with {FILES:,} more",
        [one for one in asked if of_landing(one)],
        "one stream; a LIST for each folder and each thousand files",
    )


def merge(made: Counted) -> dict[str, Any]:
    made.dbt("deps")

    def run(rows: int, every: int, shift: int, files: int) -> None:
        given = {"rows": rows, "every": every, "shift": shift, "files": files}
        made.dbt("run", "--vars", json.dumps(given))

    run(1_000_000, 1, 0, 4)
    for number in (1, 2):
        run(20_000, 50, number, 1)
    return row("merge", made.counted(lambda: run(20_000, 50, 3, 1)), "batch, ranges and merge")


if __name__ == "__main__":
    main()
