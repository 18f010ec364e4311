"""Who merges: dbt with alluvium, dbt with stock dbt-spark, delta-rs."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from dbt.cli.main import dbtRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from alluvium.engine import session as engine
from alluvium.ranges import Ranges, Request, canonical_texts, plan
from merging.batches import Batch
from merging.home import REPOSITORY, make_home
from merging.library import log
from merging.tables import Table

HERE = Path(__file__).resolve().parent
# The same for every contender that merged right.
DIGEST = "select count(*), sum(cast(xxhash64(id, seq, {gone}) as decimal(38))) from {table}"
# Java's own thresholds: with those of short runs a warm session never gets optimised code.
CONF = {
    "spark.driver.extraJavaOptions": "-XX:Tier4InvocationThreshold=5000"
    " -XX:Tier4MinInvocationThreshold=600 -XX:Tier4CompileThreshold=15000"
    " -XX:Tier4BackEdgeThreshold=40000"
}
PACKAGE = {"name": "alluvium", "version": "1.0.0", "config-version": 2, "macro-paths": ["macros"]}


@dataclass(frozen=True)
class Done:
    """A merge of one batch.

    seconds: the merge alone; for dbt the merged model, with all that it plans.
    path_seconds: from the first model's start to the last one's end: batch, ranges, merge, hooks;
        for the others the merge and what they do before it.
    files, bytes: what the merge's predicate leaves to read.
    state: what DIGEST finds, where only the contender can read its table.
    """

    seconds: float
    path_seconds: float
    rows: int
    files: int
    bytes: int
    ranges_seconds: float = 0.0
    engine: str = ""
    state: Sequence[str] = ()


@dataclass(frozen=True)
class Bench:
    """The session that all Spark contenders share, and where their projects and tables are."""

    session: SparkSession
    folder: Path

    @classmethod
    def start(cls, folder: Path, checkout: Path = REPOSITORY) -> Bench:
        """Start Spark in `folder`, with the projects and the macros of a checkout's package."""
        home = make_home(folder / "home")
        outputs = {
            "alluvium": {
                "type": "alluvium",
                "schema": "ours",
                "home": str(home),
                "threads": 1,
                "spark_conf": CONF,
            },
            "stock": {"type": "spark", "method": "session", "host": "NA", "schema": "stock"},
        }
        profile = {"bench": {"target": "alluvium", "outputs": outputs}}
        (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
        package = folder / "packages" / "alluvium"
        package.mkdir(parents=True)
        (package / "dbt_project.yml").write_text(yaml.safe_dump(PACKAGE))
        (package / "macros").symlink_to(checkout / "macros")
        for name in ("alluvium", "stock"):
            project = yaml.safe_load((HERE / f"{name}_project/dbt_project.yml").read_text())
            project["packages-install-path"] = str(
                folder / "packages" if name == "alluvium" else folder / "none"
            )
            root = folder / f"{name}_project"
            root.mkdir()
            (root / "dbt_project.yml").write_text(yaml.safe_dump(project))
            for part in HERE.glob(f"{name}_project/*/"):
                (root / part.name).symlink_to(part)
        session = engine.new_session(engine.Settings(home=home, conf=CONF))
        for schema in ("ours", "stock"):
            session.sql(f"create schema {schema}")
        return cls(session, folder)

    def dbt(self, target: str, variables: Mapping[str, Any], select: list[str]) -> list[Any]:
        """Results of the models, in the order in which they ended."""
        root = self.folder / f"{target}_project"
        # A target folder for each set of variables: dbt parses the project anew where they differ.
        named = "-".join(str(value) for value in variables.values() if isinstance(value, str))
        folders = ["--project-dir", str(root), "--profiles-dir", str(self.folder)]
        target_path = self.folder / "target" / target / (named or "all")
        settings = ["--target", target, "--target-path", str(target_path)]
        settings += ["--log-level-file", "none", "--vars", json.dumps(dict(variables))]
        result = dbtRunner().invoke(["--quiet", "run", *folders, *settings, "--select", *select])
        if not result.success:
            said = [str(one.message) for one in getattr(result.result, "results", [])]
            raise SystemExit(f"{target} {variables}: {result.exception or said}")
        return sorted(result.result.results, key=lambda one: _times(one)[1])

    def place(self, schema: str, target: Path, batch: Batch) -> None:
        """Let the models find this target and these events."""
        for name, path in (("items", target), ("events", batch.path)):
            self.session.sql(f"drop table if exists {schema}.{name}")
            self.session.sql(f"create table {schema}.{name} using delta location '{path}'")


def _times(result: Any) -> tuple[dt.datetime, dt.datetime]:
    execute = next(one for one in result.timing if one.name == "execute")
    return execute.started_at, execute.completed_at


def _seconds(results: list[Any]) -> tuple[float, float, float]:
    """The merge's, the whole path's and the ranges model's."""
    times = {one.node.name: _times(one) for one in results}
    path = max(end for _, end in times.values()) - min(start for start, _ in times.values())
    merge = times["items"][1] - times["items"][0]
    ranges = times.get("batch_ranges")
    planning = (ranges[1] - ranges[0]).total_seconds() if ranges else 0.0
    return merge.total_seconds(), path.total_seconds(), planning


@dataclass(frozen=True)
class Alluvium:
    """The merged model of this package.

    planner: with a dbt Python model for the ranges; otherwise the merge plans them.
    """

    method: str = "auto"
    planner: bool = False
    engine: str = "auto"
    plain = False

    @property
    def name(self) -> str:
        model = ", ranges model" if self.planner else ""
        return f"alluvium, {self.method}{model}{', MERGE INTO' * (self.engine != 'auto')}"

    def variables(self, key: str, column: str) -> dict[str, str]:
        given = {"key": key, "column": column, "method": self.method, "engine": self.engine}
        return given | ({"planner": "batch_ranges"} if self.planner else {})

    def settled(self, bench: Bench) -> float:
        """Seconds of the model that is nothing but a hook with nothing to do."""
        (result,) = bench.dbt("alluvium", self.variables("key", "key"), ["settled"])
        started, ended = _times(result)
        return (ended - started).total_seconds()

    def merge(
        self, bench: Bench, table: Table, copy: Path, batch: Batch, key: str, column: str
    ) -> Done:
        bench.place("ours", copy, batch)
        models = ["batch", *["batch_ranges"] * self.planner, "items"]
        results = bench.dbt("alluvium", self.variables(key, column), models)
        seconds, path, planning = _seconds(results)
        response = results[-1].adapter_response
        said = json.loads(DeltaTable(copy).history(1)[0].get("userMetadata") or "{}")
        figures = said.get("alluvium_merge", {})
        return Done(
            seconds,
            path,
            response["rows_affected"],
            figures.get("files_kept", 0),
            figures.get("bytes_kept", 0),
            planning,
            response.get("engine") or "",
        )


@dataclass(frozen=True)
class Stock:
    """dbt-spark's merge; `bounds` adds the hand-written min and max of the batch's column."""

    bounds: bool = False
    plain = False

    @property
    def name(self) -> str:
        return "dbt-spark, min-max by hand" if self.bounds else "dbt-spark"

    def merge(
        self, bench: Bench, table: Table, copy: Path, batch: Batch, key: str, column: str
    ) -> Done:
        bench.place("stock", copy, batch)
        variables: dict[str, Any] = {"key": key}
        predicate = None
        if self.bounds:
            predicate = _bounds(bench.session, batch, column)
            variables["predicates"] = [predicate.replace("@", "DBT_INTERNAL_DEST.")]
        # Of what was copied: Delta must not have the copy's log in memory before the merge.
        kept = log.skipping(
            bench.session,
            f"delta.`{table.path}`",
            predicate.replace("@", "") if predicate else None,
        )
        seconds, path, _ = _seconds(bench.dbt("stock", variables, ["batch", "items"]))
        [commit] = DeltaTable(copy).history(1)
        # A MERGE of no events makes no commit.
        changed = commit["operationMetrics"] if commit["operation"] == "MERGE" else {}
        rows = sum(int(changed.get(f"numTargetRows{kind}", 0)) for kind in ("Inserted", "Updated"))
        return Done(seconds, path, rows, kept.files, kept.bytes)


def _bounds(session: SparkSession, batch: Batch, column: str) -> str:
    """`@` stands for the target's name."""
    row = session.sql(f"select min({column}), max({column}) from delta.`{batch.path}`").first()
    assert row is not None
    low, high = (f"'{value}'" if isinstance(value, str) else str(value) for value in row)
    return f"@{column} between {low} and {high}"


@dataclass(frozen=True)
class DeltaRs:
    """delta-rs's merge, of rows that its own reader has read; `ranges` adds alluvium's."""

    ranges: bool = False
    plain = True  # it writes no table with deletion vectors

    @property
    def name(self) -> str:
        return "delta-rs, alluvium's ranges" if self.ranges else "delta-rs"

    def merge(
        self, bench: Bench, table: Table, copy: Path, batch: Batch, key: str, column: str
    ) -> Done:
        started = time.perf_counter()
        events = DeltaTable(str(batch.path)).to_pyarrow_table().drop_columns(["_batch_id"])
        deleted = pa.array([op == "d" for op in events["op"].to_pylist()])
        events = events.append_column("_deleted", deleted)
        condition, files, size = f"s.{key} = t.{key}", table.files, table.bytes
        if self.ranges:
            fragments = log.fragments(bench.session, f"delta.`{copy}`", [column])[column]
            found = plan(events[column], Request("auto", 64, fragments=fragments, or_null=False))
            if len(found.ranges):
                condition = f"({_between(found.ranges, column)}) and {condition}"
            if found.kept:
                files, size = found.kept.files, found.kept.bytes
        planned = time.perf_counter() - started
        # It takes 17 GB for 100 million rows, and a second such merge of the same process more.
        with ProcessPoolExecutor(1, get_context("spawn")) as own:
            seconds, figures = own.submit(_merge_by_delta_rs, copy, events, condition).result()
        rows = figures["num_target_rows_inserted"] + figures["num_target_rows_updated"]
        return Done(seconds, planned + seconds, rows, files, size)


def _merge_by_delta_rs(
    table: Path, events: pa.Table, condition: str
) -> tuple[float, dict[str, Any]]:
    started = time.perf_counter()
    merger = DeltaTable(str(table)).merge(events, condition, source_alias="s", target_alias="t")
    figures = merger.when_matched_update_all().when_not_matched_insert_all().execute()
    return time.perf_counter() - started, figures


def _between(ranges: Ranges, column: str) -> str:
    """Numbers and texts as delta-rs reads them: Spark's typed literals are none to it."""
    ends = zip(canonical_texts(ranges.lo), canonical_texts(ranges.hi), strict=True)
    text = pa.types.is_string(ranges.lo.type) or pa.types.is_large_string(ranges.lo.type)
    quoted = [[f"'{end}'" if text else end for end in pair] for pair in ends]
    return " or ".join(f"t.{column} between {lo} and {hi}" for lo, hi in quoted)


@dataclass
class Iceberg:
    """Iceberg's MERGE with deletion vectors, in the newest Spark it has a runtime for.

    python: of an environment with that Spark; the worker goes on until `close`.
    """

    python: Path
    folder: Path
    name = "Iceberg"
    plain = True
    _process: subprocess.Popen[str] | None = None

    def merge(
        self, bench: Bench, table: Table, copy: Path, batch: Batch, key: str, column: str
    ) -> Done:
        task = {"table": str(table.plain), "batch": str(batch.path), "key": key}
        task["digest"] = DIGEST.format(table="{table}", gone="op = 'd'")
        started = time.perf_counter()
        answer = self._ask(task)
        path = time.perf_counter() - started
        return Done(
            answer["seconds"], path, batch.rows, table.files, table.bytes, state=answer["state"]
        )

    def _ask(self, task: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._process = subprocess.Popen(
                [str(self.python), str(HERE / "iceberg_worker.py"), str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self.folder / "iceberg.log").open("w"),
                text=True,
            )
            self._read()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._read())
        return answer

    def _read(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"Iceberg's worker ended: {(self.folder / 'iceberg.log').read_text()}")
        return line

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


Contender = Alluvium | Stock | DeltaRs | Iceberg
