"""Builds killed with -9 at random moments and started again: the tables are as if never killed."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from deltalake import DeltaTable
from functional.delta_rs import by_query
from functional.project.reference import (
    ENGINES,
    FEED,
    Reference,
    copy_repository,
    given_seed,
    groups,
)
from functional.runner import DBT, add_jars
from oracle.flights import replay_duckdb

pytestmark = [pytest.mark.spark, pytest.mark.slow]
STARTED = re.compile(r" START .* model \w+\.(\w+) ")
DONE = re.compile(r" OK .* model \w+\.(\w+) ")


@dataclass
class Killed(Reference):
    """The reference project as it stands in the repository, in processes of its own.

    Nothing else may open its home, so the tables are read by another engine.
    """

    seconds: dict[str, float] = field(default_factory=dict)

    def table(self, name: str) -> pd.DataFrame:
        return by_query(DeltaTable(self.home / f"warehouse/{self.schema}.db/{name}")).to_pandas()

    def start(self) -> tuple[subprocess.Popen[bytes], Path]:
        command = [*DBT, "--no-use-colors", "build", "--profiles-dir", "profiles"]
        command += ["--select", *FEED, "--exclude-resource-type", "test"]
        out = self.root / "out.txt"
        with out.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=os.environ | {"ALLUVIUM_SCHEMA": self.schema},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process, out

    def finish(self) -> None:
        process, out = self.start()
        assert process.wait(600) == 0, out.read_text()[-5000:]
        results = json.loads((self.root / "target/run_results.json").read_text())["results"]
        for result in results:
            self.seconds[result["unique_id"].split(".")[-1]] = result["execution_time"]

    def kill(self, node: str, share: float) -> str:
        """Kill a build when `share` of what `node` took last time has passed since it started."""
        process, out = self.start()
        end = time.monotonic() + 600
        while node not in STARTED.findall(out.read_text()):
            assert process.poll() is None, out.read_text()[-5000:]
            assert time.monotonic() < end, out.read_text()
            time.sleep(0.05)
        time.sleep(share * self.seconds.get(node, 5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        text = out.read_text()
        done = set(DONE.findall(text))
        running = [name for name in STARTED.findall(text) if name not in done]
        return "+".join(sorted(running)) or f"after {len(done)}"


@pytest.mark.parametrize(("kills", "every"), [(2, 2), pytest.param(20, 1, marks=pytest.mark.slow)])
def test_killed_at_random_moments(
    tmp_path: Path, replayed: Callable[[int], list[Path]], kills: int, every: int
) -> None:
    """`every`: after so many kills a build comes to its end, and the tables are compared."""
    seed = given_seed(f"tests/functional/project/test_kill.py -k {kills}-{every}")
    rng = random.Random(seed)
    root = tmp_path / "killed"
    copy_repository(root)
    project = Killed(root, add_jars(root / ".alluvium"), "killed")
    # Every node in turn, in a new order each time.
    nodes = [node for _ in range(0, kills, len(FEED)) for node in rng.sample(FEED, len(FEED))]
    batches = groups(replayed(4), kills, seed)
    moments: Counter[str] = Counter()
    engines = itertools.cycle(ENGINES)
    steps = zip(batches, nodes, replay_duckdb(batches), strict=False)
    for number, (batch, node, expected) in enumerate(steps, 1):
        project.plan_by("kmeans", engine=next(engines))
        project.land(batch)
        moment = project.kill(node, rng.uniform(0, 1.2))
        print("killed", moment)
        moments[moment] += 1
        if number % every == 0:
            project.finish()
            project.check(expected)
            project.check_lines()
    print(dict(moments))
    assert len(moments) >= min(kills, 5) - 1, moments
