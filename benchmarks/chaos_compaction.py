"""Compactions that are killed and disturbed, round after round, against a replay in DuckDB.

Run with `make chaos-compaction ROUNDS=n`. Each round is drawn from one seed, which it prints first;
its outcome is kept under that seed in benchmarks/results/chaos_compaction.json. `--seed s` repeats
a round.

In every round a table is compacted, in half of them along a Z-order, while it is appended to, in
half of them also merged into, and hit by what the kind of the round says; where a kill waits for a
file, all of these come right behind it:

kill        a process that compacts is killed with -9, it and its JVM: at a random moment, or
            as soon as it has written a file
append      more appends
merge       a merge that changes rows of all fragments
delete      a delete of rows of all fragments
checkpoint  a checkpoint, and a cleanup of the log before it
optimize    Delta's own OPTIMIZE
vacuum      VACUUM of a table whose committed files are all old enough for it, dry first

From seed NEW on about half of the rounds have each of these, drawn apart, so that seeds before it
are as they were:

shared    the disturbed compaction makes the final form, by merges that several tasks share
budget    a run rewrites a part of the table only
together  all merges of a plan are one commit
engine    there is a merge, and the one-commit engine carries out all merges, on deletion vectors

At the end rows must be those of the replay, to Spark and to delta-rs; next compactions, several
where there is a budget, must succeed and leave each bucket in its final form: files sorted, and no
two overlapping. No run may rewrite more than its budget. What a killed compaction leaves behind
must be named by VACUUM's dry run, and no file that the table has.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, urlparse

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from chaos import rounds
from chaos.rounds import LOST, Worker
from deltalake import DeltaTable, QueryBuilder
from merging.home import REPOSITORY, make_home
from pyspark.sql import SparkSession
from support import curve

from alluvium.compact import history
from alluvium.compact.outcome import Compacted
from alluvium.compact.run import compact, preview
from alluvium.compact.state import look
from alluvium.delta.log import log
from alluvium.engine import jvm
from alluvium.engine import session as engine
from alluvium.merge import execute
from alluvium.plan.compaction import jobs
from alluvium.plan.compaction.compaction_plan import CompactionPlan
from alluvium.plan.layout.settings import Layout

RESULTS = REPOSITORY / "benchmarks" / "results" / "chaos_compaction.json"
NEW = 182  # the first seed that draws `FEATURES`
FEATURES = ("shared", "budget", "together", "engine")
KINDS = ("kill", "delete", "optimize", "append", "merge", "checkpoint", "vacuum")
COLUMNS = "id bigint, service string, value string, day date"
SCHEMA = pa.schema(
    [("id", pa.int64()), ("service", pa.string()), ("value", pa.string()), ("day", pa.date32())]
)
SORT_BY = ("service", "id")
ROWS = 30  # of a file that an append makes
FILES = 8  # that a table begins with
MANY_FILES = 40  # of a table for a merge to share, or for a budget to be too small for
# Bytes. A file of 200 rows has 6 KiB or so, and that of 70 rows, as shared merges make, has 3; a
# merge is shared if it makes eight files.
BUDGETS = range(18 * 2**10, 36 * 2**10)
BUDGETS_OF_SHARED = range(45 * 2**10, 80 * 2**10)
RUNS = 60  # that a budget may make a final form take
TRIES = 20  # of a writer that compactions are faster than
PATIENCE = 120.0  # seconds until a worker has written a file
DAY = 86400.0
QUIET = 10.0**11  # seconds since 1970: long after all arrivals
HOUR_QUIET = 3600.0  # seconds


@dataclass
class Outcome:
    """A round: what happened, and what was wrong at its end.

    Attributes:
        budget: bytes that a run may rewrite; 0 for any number.
        shared_merges: that were committed, by several tasks each.
        engine_merges: by the one-commit engine.
        waiting: merges that the budget holds for no run, as one of their files is too large.
        over_budget: bytes that runs rewrote beyond it.
    """

    seed: int
    kind: str
    deletion_vectors: bool
    partitioned: bool
    v2_checkpoints: bool
    zorder: bool
    shared: bool = False
    budget: int = 0
    together: bool = False
    engine: bool = False
    merges: int = 0
    shared_merges: int = 0
    engine_merges: int = 0
    conflicts: int = 0
    others: int = 0
    gave_way: int = 0
    kills: int = 0
    committed_when_killed: int = 0
    orphans: int = 0
    waiting: int = 0
    lost: int = 0
    added: int = 0
    wrong_in_delta_rs: int = 0
    unsorted: int = 0
    overlapping: int = 0
    unnamed: int = 0
    over_budget: int = 0
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        wrong = self.lost + self.added + self.wrong_in_delta_rs + self.over_budget
        return not (wrong or self.unsorted or self.overlapping or self.unnamed)


def draw(seed: int) -> tuple[Outcome, Random]:
    """What a round is, and what draws all else of it."""
    random = Random(seed)
    outcome = Outcome(
        seed,
        KINDS[seed % len(KINDS)],
        deletion_vectors=random.random() < 0.5,
        partitioned=random.random() < 0.5,
        v2_checkpoints=random.random() < 0.3,
        # Apart, so that all else is as it was when every table had one curve.
        zorder=Random(f"curve of {seed}").random() < 0.5,
    )
    if seed < NEW:
        outcome.together = outcome.partitioned
        return outcome, random
    apart = Random(f"features of {seed}")
    has = {name: apart.random() < 0.5 for name in FEATURES}
    outcome.shared, outcome.together, outcome.engine = has["shared"], has["together"], has["engine"]
    if has["budget"]:
        outcome.budget = apart.choice(BUDGETS_OF_SHARED if outcome.shared else BUDGETS)
    outcome.deletion_vectors |= outcome.engine
    return outcome, random


def layout(drawn: Outcome) -> Layout:
    return Layout(
        SORT_BY,
        curve="zorder" if drawn.zorder else "lexical",
        bucket_column="day" if drawn.partitioned else None,
        window="day" if drawn.partitioned else None,
        target_rows=70 if drawn.shared else 200,
        fan_in=4,
        tiers=2,
        quiet_after=HOUR_QUIET,
        level_rows=400,
        budget=drawn.budget or None,
        partial_progress=not drawn.together,
    )


def run(
    session: SparkSession, table: str, drawn: Outcome, *, final: bool, **more: Any
) -> Compacted:
    """Compact, to the final form or as ingestion does."""
    clock = (lambda: QUIET) if final else time.time
    # Tasks for as few files as may be, however few cores there are.
    small = patch.multiple(jobs, _SHARE=1, _CORES=1) if drawn.shared else nullcontext()
    with small:
        return compact(session, table, layout(drawn), "chaos", clock=clock, **more)


def work(home: Path) -> None:
    """The worker: compacts the tables that it is given."""
    session = engine.new_session(engine.Settings(home))
    warm = home / "scratch" / "warm"
    for _ in range(4):
        frame = session.createDataFrame([(1, "a", "b", None)], COLUMNS)
        frame.write.format("delta").mode("append").save(str(warm))
    compact(session, f"delta.`{warm}`", Layout(SORT_BY, fan_in=4), "warm")

    def answer(task: dict[str, Any]) -> Compacted:
        drawn = Outcome(**task["drawn"])
        return run(session, task["table"], drawn, final=drawn.shared)

    rounds.serve(answer)


def sort_keys(rows: pa.Table, axes: list[dict[str, Any]] | None) -> list[tuple[Any, ...]]:
    """By what rows are sorted: on a curve by their places, which many share, first."""
    columns = [rows[name] for name in SORT_BY]
    keys = [
        (service is not None, service or "", id)
        for service, id in zip(*(one.to_pylist() for one in columns), strict=True)
    ]
    if axes is None:
        return keys
    values = zip(*(curve.measured(one, "") for one in columns), strict=True)
    return [(curve.place(one, axes), *key) for one, key in zip(values, keys, strict=True)]


class Replay:
    """The same changes in DuckDB."""

    def __init__(self) -> None:
        self._rows = duckdb.connect()
        self._rows.execute(f"create table rows ({COLUMNS})")

    def append(self, batch: pa.Table) -> None:
        self._rows.register("batch", batch)
        self._rows.execute("insert into rows select * from batch")

    def merge(self, batch: pa.Table) -> None:
        self._rows.register("batch", batch)
        self._rows.execute("delete from rows where id in (select id from batch)")
        self._rows.execute("insert into rows select * from batch")

    def delete(self, where: str) -> None:
        self._rows.execute(f"delete from rows where {where}")

    def ids(self) -> list[int]:
        return [one[0] for one in self._rows.sql("select id from rows order by id").fetchall()]

    def compare(self, found: pa.Table) -> tuple[int, int]:
        """Rows that are lost, and that are too many."""
        self._rows.register("found", found.select(SCHEMA.names).cast(SCHEMA))
        lost, added = (
            self._rows.sql(f"from {one} except all from {two}").fetchall()
            for one, two in (("rows", "found"), ("found", "rows"))
        )
        return len(lost), len(added)


@dataclass
class Round:
    """What one seed draws, and the table it runs on."""

    session: SparkSession
    folder: Path
    outcome: Outcome
    random: Random
    other: SparkSession  # of other processes
    replay: Replay = field(default_factory=Replay)
    next_id: int = 0
    seen: int = 0  # version before the disturbed compaction

    @property
    def table(self) -> str:
        return f"delta.`{self.folder}`"

    @property
    def layout(self) -> Layout:
        return layout(self.outcome)

    def run(self, worker: Worker) -> bool:
        """Run the round; whether the worker still lives."""
        started = time.monotonic()
        self._create()
        self._append(self.session, files=self.random.randrange(3, 6))
        self.seen = log.version(self.session, self.table)
        meanwhile = [self._append]
        if self.random.random() < 0.5 or self.outcome.engine:
            # The engine's comes first: a compaction is over soon, and is to be in its way.
            meanwhile.insert(0 if self.outcome.engine else 1, self._merge)
        killed = self.outcome.kind == "kill"
        if killed:
            self._kill(worker, meanwhile)
        else:
            place = self.random.randrange(len(meanwhile) + 1)
            meanwhile.insert(place, getattr(self, f"_{self.outcome.kind}"))
            self._compact(meanwhile)
        self._finish()
        self.outcome.seconds = round(time.monotonic() - started, 1)
        return not killed

    # What other processes do. Each returns once it has been committed and replayed.

    def _batch(self, ids: list[int]) -> pa.Table:
        draw = self.random
        return pa.Table.from_pydict(
            {
                "id": ids,
                "service": [
                    None if draw.random() < 0.05 else f"s{int(draw.random() ** 2 * 20)}"
                    for _ in ids
                ],
                "value": [f"{draw.getrandbits(64):x}" for _ in ids],
                # A row keeps its bucket: a merge moves none.
                "day": [19783 + one % 2 for one in ids],
            },
            SCHEMA,
        )

    def _writer(self, session: SparkSession, batch: pa.Table) -> Any:
        frame = session.createDataFrame(batch).coalesce(1)
        return frame.write.format("delta").option("maxRecordsPerFile", ROWS)

    def _new(self, files: int) -> pa.Table:
        first, self.next_id = self.next_id, self.next_id + files * ROWS
        return self._batch(list(range(first, self.next_id)))

    def _create(self) -> None:
        many = self.outcome.shared or self.outcome.budget
        first = self._new(MANY_FILES if many else FILES)
        writer = self._writer(self.session, first)
        if self.outcome.partitioned:
            writer = writer.partitionBy("day")
        properties = {
            "delta.enableDeletionVectors": str(self.outcome.deletion_vectors).lower(),
            "delta.checkpointInterval": str(self.random.randrange(2, 6)),
            "delta.checkpointPolicy": "v2" if self.outcome.v2_checkpoints else "classic",
        }
        writer.options(**properties).save(str(self.folder))
        self.replay.append(first)

    def _append(self, session: SparkSession, files: int = 2) -> None:
        batch = self._new(files)
        # Appends never give way to a compaction: where one does, the round fails.
        self._writer(session, batch).mode("append").save(str(self.folder))
        self.replay.append(batch)

    def _merge(self, session: SparkSession) -> None:
        # Every seventh of the ids has rows in all fragments.
        ids = self.replay.ids()[self.random.randrange(7) :: 7]
        batch = self._batch([*ids, *range(self.next_id, self.next_id + ROWS)])
        self.next_id += ROWS
        session.createDataFrame(batch).createOrReplaceTempView("batch")
        statement = (
            f"merge into {self.table} t using batch s on t.id = s.id"
            " when matched then update set * when not matched then insert *"
        )
        if self.outcome.engine:
            self._merge_in_one_commit(session, statement)
        else:
            self._insist(lambda: session.sql(statement))
        self.replay.merge(batch)

    def _merge_in_one_commit(self, session: SparkSession, statement: str) -> None:
        merge = execute.Statement(statement, {})
        table = execute.DeltaTable(session, self.table, "chaos", sort_by=SORT_BY)
        done = execute.run(table, lambda: merge, TRIES)
        if done is None or done.refused:
            raise RuntimeError(f"left to MERGE INTO: {done and done.refused}")
        self.outcome.gave_way += done.conflicts
        self.outcome.engine_merges += 1

    def _delete(self, session: SparkSession) -> None:
        where = f"id % 11 = {self.random.randrange(11)}"
        self._insist(lambda: session.sql(f"delete from {self.table} where {where}"))
        self.replay.delete(where)

    def _optimize(self, session: SparkSession) -> None:
        try:
            session.sql(f"optimize {self.table}")
        except LOST:
            # It changes no row, so nobody has to try again.
            self.outcome.gave_way += 1

    def _checkpoint(self, session: SparkSession) -> None:
        # Not what the running compaction has to look through for conflicts.
        files = (self.folder / "_delta_log").glob("[0-9]*")
        self._age((file for file in files if int(file.name[:20]) < self.seen), days=60)
        table_log = log.delta_log(session, self.table)
        none = jvm.of(session).scala.Option.empty()
        table_log.checkpointAndCleanUpDeltaLog(table_log.update(False, none, none), none)

    def _vacuum(self, session: SparkSession) -> None:
        # What the compaction has written and not committed yet stays as young as it is.
        known = self._known()
        self._age(known & self._files(), days=30)
        self.outcome.unnamed += len(self._named(session) & known)
        session.sql(f"vacuum {self.table}").collect()

    def _insist(self, write: Callable[[], object]) -> None:
        for _ in range(TRIES):
            try:
                write()
                return
            except LOST:
                self.outcome.gave_way += 1
        raise RuntimeError(f"a writer gave way {TRIES} times")

    # Compactions.

    def _compact(self, meanwhile: list[Callable[[SparkSession], None]]) -> None:
        """Compact, and let the others write when its first plan has been made."""
        pause, at_once = self.random.random(), self.random.random() < 0.5
        others = Others(self, meanwhile, 0.0 if at_once else pause)

        def begin(_: str = "") -> None:
            if others.ident is None:
                others.start()
                if at_once:
                    # Half of the rounds: all of them come before the files are written.
                    others.join()

        done = run(self.session, self.table, self.outcome, final=self.outcome.shared, say=begin)
        begin()
        others.finish()
        self._count(done)
        self.outcome.conflicts += done.conflicts

    def _count(self, done: Compacted) -> None:
        self.outcome.merges += done.merges
        if self.outcome.budget:
            over = done.bytes_read + done.bytes_given_up - self.outcome.budget
            self.outcome.over_budget += max(0, over)

    def _kill(self, worker: Worker, meanwhile: list[Callable[[SparkSession], None]]) -> None:
        task = {"table": self.table, "drawn": asdict(self.outcome)}
        self._count(Compacted(**worker.run(**task)))
        self._append(self.session, FILES)
        before = log.version(self.session, self.table)
        moment = self.random.random() * 1.2 * worker.seconds
        writing = self.random.random() < 0.5
        others = Others(self, meanwhile, 0.0)
        files = self._files()
        started = time.monotonic()
        worker.start(**task)
        if writing:
            while self._files() == files:
                if time.monotonic() > started + PATIENCE:
                    raise RuntimeError("a worker has written nothing")
                time.sleep(0.01)
        else:
            others.start()
            time.sleep(max(0.0, started + moment - time.monotonic()))
        worker.kill()
        if writing:
            # They write files too, so they come behind it.
            others.start()
        others.finish()
        self.outcome.kills += 1
        made = log.version(self.session, self.table) - before - len(meanwhile)
        self.outcome.committed_when_killed += made
        self.outcome.orphans += self._check_orphans()

    # What must be true.

    def _finish(self) -> None:
        self._compare()
        if not self.outcome.clean:
            return
        left = self._compact_to_the_end()
        if left.waiting:
            # A file that no budget holds, as OPTIMIZE makes them, waits until that is lifted.
            self.outcome.waiting = left.waiting
            if 2 * max(self._sizes().values()) <= self.outcome.budget:
                raise RuntimeError(f"merges wait though files are small: {left}")
            lifted = replace(self.outcome, budget=0)
            run(self.session, self.table, lifted, final=True)
        self._count_shared()
        self._compare()
        self._check_form()

    def _compact_to_the_end(self) -> CompactionPlan:
        """As many runs as the budget asks for; what they leave."""
        for _ in range(RUNS if self.outcome.budget else 1):
            before = self._sizes()
            done = run(self.session, self.table, self.outcome, final=True)
            self._count(done)
            gone = sum(before[path] for path in before.keys() - self._sizes().keys())
            # Of files with deletion vectors a budget does not count all bytes.
            if self.outcome.budget and not self.outcome.deletion_vectors:
                self.outcome.over_budget += max(0, gone - self.outcome.budget)
            left = preview(self.session, self.table, self.layout, "chaos", now=QUIET)[0]
            if done.conflicts:
                raise RuntimeError("nobody else was there, and a merge gave way")
            if not left:
                return left
        raise RuntimeError(f"the final compaction left {left}")

    def _count_shared(self) -> None:
        """Those that the log has: their inputs were opened twice, the second time for a sample."""
        done = history.compactions(self.session, self.table).to_pylist()
        merges = [one for one in done if one["inputs"]]
        self.outcome.shared_merges = sum(
            one["files_opened"] == 2 * one["inputs"] + 3 * one["outputs"] for one in merges
        )

    def _compare(self) -> None:
        found = self.session.sql(f"select * from {self.table}").toArrow()
        lost, added = self.replay.compare(found)
        self.outcome.lost += lost
        self.outcome.added += added
        read = QueryBuilder().register("t", DeltaTable(self.folder)).execute("select * from t")
        self.outcome.wrong_in_delta_rs += sum(self.replay.compare(pa.table(read.read_all())))

    def _sizes(self) -> dict[str, int]:
        """Bytes of the table's files by their paths below its folder, as delta-rs has them."""
        actions = pa.table(DeltaTable(self.folder).get_add_actions(flatten=True))
        paths = [unquote(path) for path in actions["path"].to_pylist()]
        return dict(zip(paths, actions["size_bytes"].to_pylist(), strict=True))

    def _check_form(self) -> None:
        cuts = look(self.session, self.table, self.layout, "chaos")[1].cuts
        axes = curve.axes_of(cuts.text()) if cuts else None
        ends: dict[str, list[tuple[Any, ...]]] = {}
        for path in self._sizes():
            keys = sort_keys(pq.ParquetFile(self.folder / path).read(list(SORT_BY)), axes)
            self.outcome.unsorted += keys != sorted(keys)
            ends.setdefault(str(Path(path).parent), []).append((min(keys), max(keys)))
        for bucket in ends.values():
            self.outcome.overlapping += sum(
                one[1] > two[0] for one, two in pairwise(sorted(bucket))
            )

    def _check_orphans(self) -> int:
        """Files that no version has; all of them and no other must be named by VACUUM."""
        files = self._files()
        self._age(files, days=30)
        orphans = files - self._known()
        self.outcome.unnamed += len(self._named(self.session) ^ orphans)
        return len(orphans)

    def _files(self) -> set[Path]:
        """Data files below the table's folder, whether a version has them or not."""
        files = {path.relative_to(self.folder) for path in self.folder.rglob("*.parquet")}
        return {path for path in files if path.parts[0] != "_delta_log"}

    def _known(self) -> set[Path]:
        """Those that a version in the log adds or removes."""
        known = set()
        for commit in (self.folder / "_delta_log").glob("*.json"):
            for line in commit.read_text().splitlines():
                action = json.loads(line)
                file = action.get("add") or action.get("remove")
                if file:
                    known.add(Path(unquote(file["path"])))
        return known

    def _named(self, session: SparkSession) -> set[Path]:
        """Those that VACUUM would delete."""
        listed = session.sql(f"vacuum {self.table} dry run").collect()
        named = {Path(unquote(urlparse(row[0]).path)) for row in listed}
        return {path.relative_to(self.folder) for path in named if path.suffix == ".parquet"}

    def _age(self, files: Any, days: int) -> None:
        past = time.time() - days * DAY
        for file in files:
            os.utime(self.folder / file, (past, past))


class Others(threading.Thread):
    """What other processes do while one compacts, one after the other."""

    def __init__(
        self, of: Round, actions: list[Callable[[SparkSession], None]], pause: float
    ) -> None:
        super().__init__()
        self._of = of
        self._actions = actions
        self._pause = pause
        self._failure: BaseException | None = None

    def run(self) -> None:
        time.sleep(self._pause)
        try:
            for action in self._actions:
                action(self._of.other)
                self._of.outcome.others += 1
        except BaseException as error:
            self._failure = error

    def finish(self) -> None:
        """Wait for the last one; raises what one of them did."""
        self.join()
        if self._failure:
            raise self._failure


@contextmanager
def players(root: Path, jars: Path) -> Iterator[Callable[[int], Outcome]]:
    home = make_home(root / "worker", jars)
    worker = Worker(__file__, home)
    session = engine.new_session(engine.Settings(make_home(root / "own", jars)))

    def play(seed: int) -> Outcome:
        nonlocal worker
        outcome, random = draw(seed)
        print(f"  {asdict(outcome)}", file=sys.stderr)
        folder = root / str(seed)
        if not Round(session, folder, outcome, random, session.newSession()).run(worker):
            # It starts while the next rounds, which need none, go on.
            worker = Worker(__file__, home)
        if outcome.clean:
            shutil.rmtree(folder)
        else:
            kept = shutil.move(folder, tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
            print(f"  its table is kept: {kept}", file=sys.stderr)
        return outcome

    try:
        yield play
    finally:
        worker.kill()


if __name__ == "__main__":
    totals = (
        *("merges", "shared_merges", "engine_merges", "conflicts", "others", "gave_way", "kills"),
        *("committed_when_killed", "orphans", "waiting", "lost", "added", "wrong_in_delta_rs"),
        *("unsorted", "overlapping", "unnamed", "over_budget"),
    )
    features = ("deletion_vectors", "partitioned", "v2_checkpoints", "zorder", *FEATURES)
    about = "Compactions that are killed and disturbed."
    sys.exit(rounds.main(about, RESULTS, features, totals, work, players))
