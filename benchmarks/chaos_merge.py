"""Merges that are killed and disturbed, round after round, against a replay of their events.

Run with `make chaos-merge ROUNDS=n`. Each round is drawn from one seed, which it prints first; its
outcome is kept under that seed in benchmarks/results/chaos_merge.json. `--seed s` repeats a round.

A worker process merges a feed batch by batch into a table. Meanwhile, by kind of round:

kill      worker and JVM are killed with -9 in the middle of a merge, and a new worker goes on
restart   they are killed after a merge, and a new worker is given the same batch once more
append    another process appends rows
merge     another process merges another feed, with keys that both feeds have
optimize  another process compacts the table

A row of the table that the replay lacks, or has otherwise, is doubled or wrong; one that only the
replay has is lost.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from chaos import rounds
from chaos.rounds import LOST, Worker
from merging.home import REPOSITORY, make_home
from pyspark.sql import SparkSession

from alluvium.delta.merge import staged
from alluvium.engine import session as engine
from alluvium.merge import execute, progress, ranges
from alluvium.plan.merge.figures import Merged
from alluvium.ranges import typed_literal

RESULTS = REPOSITORY / "benchmarks" / "results" / "chaos_merge.json"
KINDS = ("kill", "merge", "optimize", "append", "restart")
COLUMNS = "id bigint, lsn bigint, value string, deleted boolean"
KEYS = 3000
BATCH = 300
BATCHES = 3
# Appends or compactions of one round. Each may cost the merge a try, so the tries outlast them.
OTHERS = 6
RETRIES = 20
# Of a request as a merged model makes it; `cover` looks at the table's files.
RANGES = {
    "column": "id", "method": "cover", "k": 4, "max_ranges": 64, "or_null": False,
    "engine": "sklearn",
}  # fmt: skip

Row = tuple[int, int, str, bool]


@dataclass
class Outcome:
    """A round: what happened, and what the table had wrong at its end.

    one_commit: merges by that engine; the others were MERGE INTO's.
    """

    seed: int
    kind: str
    deletion_vectors: bool
    conflicts: int = 0
    already_merged: int = 0
    one_commit: int = 0
    kills: int = 0
    committed_when_killed: int = 0
    others: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


def merge(
    session: SparkSession, folder: Path, model: str, through: int, events: list[Row]
) -> Merged:
    """Merge the newest of the batch's events for each key; older ones than the table's are void.

    As a dbt node does: the batch is staged in a table, and each try plans ranges for the files that
    the merged table has then.
    """
    table, name = f"delta.`{folder}/table`", f"batch_{model}"
    session.createDataFrame(events, COLUMNS).coalesce(1).createOrReplaceTempView("events")
    session.sql(
        f"create or replace table delta.`{folder}/{name}` using delta as select * from events"
    )
    session.sql(
        f"create or replace temporary view {name} as select id,"
        f" max_by(struct(lsn, value, deleted), lsn) as e from delta.`{folder}/{name}` group by id"
    )
    put_back = staged.replace_view(session.table(name), name)
    assert put_back is not None

    def plan() -> execute.Statement:
        rows = ranges.plan_batch(session, lambda: session.table(name), RANGES | {"table": table})
        bounds = [[typed_literal(row[end], "bigint") for end in ("lo", "hi")] for row in rows]

        def prune(prefix: str) -> str:
            return " or ".join(f"{prefix}id between {lo} and {hi}" for lo, hi in bounds)

        sql = (
            f"merge into {table} t using {name} s"
            f" on ({prune('t.')}) and s.id = t.id"
            " when matched and s.e.lsn > t.lsn then update set"
            " lsn = s.e.lsn, value = s.e.value, deleted = s.e.deleted"
            " when not matched then insert (id, lsn, value, deleted)"
            " values (s.id, s.e.lsn, s.e.value, s.e.deleted)"
        )
        return execute.Statement(sql, {}, through, prune(""))

    try:
        done = execute.run(execute.DeltaTable(session, table, model), plan, RETRIES)
        assert done is not None, "every batch has events"
        return done
    finally:
        put_back()


def work(home: Path) -> None:
    """The worker: merges the batches that it is given."""
    session = engine.new_session(engine.Settings(home))
    session.sql("select 1").collect()

    def answer(task: dict[str, Any]) -> Merged:
        events = [tuple(event) for event in task["events"]]
        return merge(session, Path(task["folder"]), task["model"], task["through"], events)

    rounds.serve(answer)


@dataclass
class Feed:
    """Events of one feed, in batches; all of them are told apart by `lsn`."""

    model: str
    batches: list[list[Row]] = field(default_factory=list)

    @classmethod
    def draw(cls, random: Random, model: str, offset: int) -> Feed:
        # Some events come late: they lose against what the table or their batch has.
        lsns = [offset + 2 * place for place in range(BATCHES * BATCH)]
        for _ in range(len(lsns) // 20):
            one, two = random.randrange(len(lsns)), random.randrange(len(lsns))
            lsns[one], lsns[two] = lsns[two], lsns[one]
        feed = cls(model)
        for number in range(BATCHES):
            hot = random.randrange(KEYS)
            batch = []
            for lsn in lsns[number * BATCH : (number + 1) * BATCH]:
                near = int(random.gauss(hot, 60)) % (KEYS + 200)
                key = near if random.random() < 0.9 else random.randrange(KEYS + 200)
                batch.append((key, lsn, f"{model}-{number}-{lsn}", random.random() < 0.1))
            feed.batches.append(batch)
        return feed


@dataclass
class Round:
    """What one seed draws, and the table it runs on."""

    session: SparkSession
    home: Path
    folder: Path
    outcome: Outcome
    random: Random
    events: list[Row] = field(default_factory=list)

    @property
    def table(self) -> str:
        return f"delta.`{self.folder}/table`"

    def run(self, worker: Worker) -> Worker:
        """Run the round; gives the worker that is alive at its end."""
        started = time.monotonic()
        first = [(key, 0, "first", False) for key in range(KEYS)]
        frame = self.session.createDataFrame(first, COLUMNS).repartitionByRange(6, "id")
        vectors = str(self.outcome.deletion_vectors).lower()
        writer = frame.write.format("delta").option("delta.enableDeletionVectors", vectors)
        writer.option("delta.checkpointInterval", "4").save(f"{self.folder}/table")
        feed = Feed.draw(self.random, "feed", 1_000_000)
        self.events = [*first, *(event for batch in feed.batches for event in batch)]
        others = self._others()
        stop = threading.Event()
        failures: list[BaseException] = []
        thread = threading.Thread(target=self._disturb, args=(others, stop, failures))
        thread.start()
        try:
            hit = self.random.randrange(BATCHES)
            for through, batch in enumerate(feed.batches):
                task = {"folder": str(self.folder), "model": feed.model, "through": through}
                task["events"] = batch
                if through == hit and self.outcome.kind == "kill":
                    worker = self._kill(worker, task)
                self._count(Merged(**worker.run(**task)))
                if through == hit and self.outcome.kind == "restart":
                    worker.kill()
                    self.outcome.kills += 1
                    worker = Worker(__file__, self.home)
                    self._count(Merged(**worker.run(**task)))
        finally:
            stop.set()
            thread.join()
        if failures:
            raise failures[0]
        self._compare(feed)
        self.outcome.seconds = round(time.monotonic() - started, 1)
        return worker

    def _count(self, done: Merged) -> None:
        self.outcome.conflicts += done.conflicts
        self.outcome.already_merged += done.already_merged
        self.outcome.one_commit += done.engine == "one_commit"

    def _kill(self, worker: Worker, task: dict[str, Any]) -> Worker:
        moment = self.random.random()
        worker.start(**task)
        time.sleep(moment * 1.2 * worker.seconds)
        worker.kill()
        self.outcome.kills += 1
        done = progress.read(self.session, self.table, task["model"])
        self.outcome.committed_when_killed += done == task["through"]
        return Worker(__file__, self.home)

    def _others(self) -> Iterator[Callable[[SparkSession], object]]:
        """What the other process does, one after the other while the worker works."""
        if self.outcome.kind == "append":
            for number in range(OTHERS):
                row = (1_000_000 + number, 1, f"appended-{number}", False)
                yield lambda session, row=row: self._append(session, row)
        elif self.outcome.kind == "optimize":
            for number in range(OTHERS):
                order = " zorder by (id)" if number % 2 else ""
                yield lambda session, order=order: session.sql(f"optimize {self.table}{order}")
        elif self.outcome.kind == "merge":
            other = Feed.draw(self.random, "other", 1_000_001)
            for through, batch in enumerate(other.batches):
                yield lambda session, t=through, b=batch: self._merge(session, t, b)

    def _append(self, session: SparkSession, row: Row) -> None:
        frame = session.createDataFrame([row], COLUMNS)
        frame.coalesce(1).write.format("delta").mode("append").save(f"{self.folder}/table")
        self.events.append(row)

    def _merge(self, session: SparkSession, through: int, batch: list[Row]) -> None:
        self._count(merge(session, self.folder, "other", through, batch))
        self.events += batch

    def _disturb(
        self,
        others: Iterator[Callable[[SparkSession], object]],
        stop: threading.Event,
        failures: list[BaseException],
    ) -> None:
        pauses = Random(self.outcome.seed)
        session = self.session.newSession()
        try:
            for other in others:
                try:
                    other(session)
                    self.outcome.others += 1
                except LOST as error:
                    # An append and a compaction may lose; what they did is then undone by nobody.
                    print(f"  another writer gave way: {type(error).__name__}", file=sys.stderr)
                if stop.wait(pauses.uniform(0, 4)):
                    return
        except BaseException as error:
            failures.append(error)

    def _compare(self, feed: Feed) -> None:
        replay: dict[int, Row] = {}
        for event in self.events:
            if event[0] not in replay or event[1] > replay[event[0]][1]:
                replay[event[0]] = event
        found = [tuple(row) for row in self.session.sql(f"select * from {self.table}").collect()]
        counts = Counter(row[0] for row in found)
        self.outcome.lost = len(replay.keys() - counts.keys())
        self.outcome.doubled = sum(counts.values()) - len(counts)
        self.outcome.wrong = sum(replay.get(row[0]) != row for row in found)
        assert progress.read(self.session, self.table, feed.model) == BATCHES - 1


@contextmanager
def players(root: Path, jars: Path) -> Iterator[Callable[[int], Outcome]]:
    session = engine.new_session(engine.Settings(make_home(root / "own", jars)))
    home = make_home(root / "worker", jars)
    worker = Worker(__file__, home)

    def play(seed: int) -> Outcome:
        nonlocal worker
        random = Random(seed)
        kind = KINDS[seed % len(KINDS)]
        folder = root / str(seed)
        outcome = Outcome(seed, kind, deletion_vectors=random.random() < 0.5)
        worker = Round(session, home, folder, outcome, random).run(worker)
        shutil.rmtree(folder)
        return outcome

    try:
        yield play
    finally:
        worker.kill()


if __name__ == "__main__":
    totals = ("conflicts", "kills", "committed_when_killed", "lost", "doubled", "wrong")
    about = "Merges that are killed and disturbed."
    sys.exit(rounds.main(about, RESULTS, ("deletion_vectors",), totals, work, players))
