"""Builds on a Spark cluster whose machines fail, against a fold of what was sent.

Run with `make chaos-cluster ROUNDS=n`. Master, two workers, a metastore in PostgreSQL and an S3
server run on this machine. A feed lands on S3, and goes through bronze, merge, compaction, tests
and publish. A round breaks something while a step of a build runs, lets the next build go on, and
compares all tables, as delta-rs reads them, with a fold of the events in DuckDB. What breaks:

executor    an executor gets kill -9
worker      a worker and its executors do; it starts again two seconds later
driver      dbt does, or its JVM
metastore   PostgreSQL is stopped, and starts again two seconds later
s3          for 20 seconds S3 refuses all, or cuts answers before and behind what it wrote

The steps: bronze, merge, hooks (behind the merge's commit) and publish.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml
from chaos import rounds
from chaos.builds import DBT, WITHIN, WRONG, BuildOutcome, kill_jvms
from chaos.orders import SCHEMA, Orders, write_project
from deltalake import DeltaTable
from merging.home import REPOSITORY, family, make_home
from support import cluster
from support.cluster import BUCKET, Cluster

RESULTS = REPOSITORY / "benchmarks" / "results" / "chaos_cluster.json"
KINDS = ("executor", "worker", "driver", "metastore", "s3")
# Each with what begins it: a text in what dbt says, or an object's path that S3 is asked to write.
STEPS = {
    "bronze": "START sql streaming_table model",
    "merge": "START sql incremental model",
    "hooks": "orders_wap/_delta_log/",
    "publish": "START sql published model",
}
PAUSE = 20.0


@dataclass
class Outcome(BuildOutcome):
    """A round: what happened, and what was wrong at its end.

    Attributes:
        how: which of the ways of its kind.
        met: whether the step ran when its disturbance came.
        again: stages that a build began again after a lost executor.
    """

    seed: int
    kind: str
    step: str
    how: str = ""
    met: bool = False
    again: int = 0


class Player:
    """The feed, the builds that bring it in, and what breaks them."""

    def __init__(self, servers: Cluster, root: Path, jars: Path) -> None:
        self._servers, self._root = servers, root
        self._home = make_home(root / "home", jars)
        landing = f"{BUCKET}/landing/orders"
        files = servers.store.files()
        self._orders = Orders(files, landing, f"s3a://{landing}", self._table)
        profiles = (REPOSITORY / "profiles/profiles.yml").read_text()
        target = yaml.safe_load(profiles)["alluvium"]["outputs"]["cluster"]
        target = {**target, "schema": SCHEMA, "threads": 2}
        write_project(root, REPOSITORY, target, self._orders.project)

    def first_build(self) -> None:
        deps = self._start("deps")
        assert deps.wait(WITHIN) == 0, self._text()
        self._orders.land(self._orders.draw())
        status, said = self._build()
        assert status == 0, said

    def play(self, seed: int) -> Outcome:
        random, began = Random(seed), time.monotonic()
        outcome = Outcome(seed, KINDS[seed % len(KINDS)], [*STEPS][seed // len(KINDS) % len(STEPS)])
        self._orders.random = random
        self._orders.land(self._orders.draw())
        build = self._start()
        if self._wait_for(outcome.step, build):
            time.sleep(2 * random.random())
            outcome.met = build.poll() is None
        mend = getattr(self, f"_{outcome.kind}")(outcome, build, random)
        mend()
        build.wait(WITHIN)
        outcome.status = build.returncode
        outcome.again = self._text().count("lost executor")
        outcome.settle(self._build, self._orders.wrong, began)
        return outcome

    # What breaks; each gives what mends it -------------------------------------------------------

    def _executor(self, outcome: Outcome, _: Any, random: Random) -> Callable[[], None]:
        running = [*self._servers.executors]
        outcome.how = f"one of {len(running)}"
        for process in random.sample(running, min(1, len(running))):
            os.kill(process, signal.SIGKILL)
        return lambda: None

    def _worker(self, outcome: Outcome, _: Any, random: Random) -> Callable[[], None]:
        number = random.randrange(cluster.WORKERS)
        outcome.how = f"number {number}"
        self._servers.kill_worker(number)

        def mend() -> None:
            time.sleep(2)
            self._servers.start_worker(number)

        return mend

    def _driver(
        self, outcome: Outcome, build: subprocess.Popen[bytes], random: Random
    ) -> Callable[[], None]:
        outcome.how = random.choice(("dbt", "JVM"))
        if outcome.how == "JVM":
            kill_jvms(family(build.pid))
        else:
            build.kill()
        return lambda: None

    def _metastore(self, outcome: Outcome, *_: Any) -> Callable[[], None]:
        outcome.how = "stopped for 2 s"
        self._servers.metastore.stop()

        def mend() -> None:
            time.sleep(2)
            self._servers.metastore.start()

        return mend

    def _s3(self, outcome: Outcome, _: Any, random: Random) -> Callable[[], None]:
        outcome.how = random.choice(("refuses", "cuts"))
        store = self._servers.store
        if outcome.how == "refuses":
            store.refuse(True)
        else:
            store.spoil("cut-after", "cut-before", every=2, match="warehouse")

        def mend() -> None:
            time.sleep(PAUSE)
            store.refuse(False)
            store.heal()

        return mend

    # How -----------------------------------------------------------------------------------------

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with self._said.open("wb") as said:
            return subprocess.Popen(
                [*DBT, *(words or ("build",))],
                cwd=self._root,
                env={
                    **os.environ,
                    **self._servers.environment,
                    "ALLUVIUM_HOME": str(self._home),
                    "DBT_PROFILES_DIR": str(self._root),
                },
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _build(self) -> tuple[int, str]:
        build = self._start()
        return build.wait(WITHIN), self._text()

    def _wait_for(self, step: str, build: subprocess.Popen[bytes]) -> bool:
        """Until a step of a build begins; False where the build ended before."""
        log, asked = self._servers.store.log, STEPS[step]
        with log.open() as requests:
            requests.seek(0, os.SEEK_END)
            while build.poll() is None:
                if step != "hooks":
                    if asked in self._text():
                        return True
                elif any(asked in line and '"PUT"' in line for line in requests):
                    return True
                time.sleep(0.05)
        return False

    def _text(self) -> str:
        return self._said.read_text(errors="replace")

    @property
    def _said(self) -> Path:
        return self._root / "said.txt"

    def _table(self, name: str) -> DeltaTable:
        # By the scheme that published tables name files with.
        place = f"s3a://{BUCKET}/warehouse/{SCHEMA}.db/{name}"
        return DeltaTable(place, storage_options=self._servers.store.delta_rs)


@contextmanager
def players(root: Path, jars: Path) -> Iterator[Callable[[int], Outcome]]:
    with cluster.running() as servers:
        player = Player(servers, root, jars)
        player.first_build()
        yield player.play


if __name__ == "__main__":
    about = "A Spark cluster whose machines fail."
    sys.exit(rounds.main(about, RESULTS, ("met",), WRONG, None, players))
