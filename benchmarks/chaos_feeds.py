"""Two feeds whose builds are disturbed, round after round, against a fold of what was sent.

Run with `make chaos-feeds ROUNDS=n`. One feed lands as files, one comes as change events of a Kafka
broker; both go through bronze, merge, compaction, tests and publish. A round sends events, disturbs
a build, lets the next one go on, and compares all tables with a fold of the events in DuckDB. By
turns, builds are commands in a warm engine, commands that start cold, and rounds of `alluvium run`.
By kind of round:

kill_command   dbt gets kill -9 at any moment of its build
kill_engine    its JVM does
kill_broker    the broker does, and is started again
term           dbt gets SIGTERM
interrupt      Ctrl-C
poison         a row breaks a test: readers see none of the batch, until the row is mended
two_commands   a second build begins at any moment
lost_place     the checkpoint of a stream is gone
old_place      the checkpoint of a stream is that of an earlier build
moved          the home lies elsewhere
aborted        a transaction of the topic is aborted
again          all events of the last batch come once more
deleted        what was read of the topic is deleted there
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from chaos import rounds
from chaos.builds import DBT, WITHIN, WRONG, BuildOutcome, kill_jvms
from chaos.feeds import TOPIC, Feeds
from merging.home import REPOSITORY, family, make_home
from support.kafka_broker import PARTITIONS, broker

from alluvium.engine import warm

RESULTS = REPOSITORY / "benchmarks" / "results" / "chaos_feeds.json"
KINDS = (
    *("kill_command", "kill_engine", "kill_broker", "term", "interrupt", "poison"),
    *("two_commands", "lost_place", "old_place", "moved", "aborted", "again", "deleted"),
)
MODES = ("warm", "cold", "run")
ALLUVIUM = [
    sys.executable,
    "-c",
    "import sys; from alluvium.command.main import main; sys.exit(main())",
]


@dataclass
class Outcome(BuildOutcome):
    """A round: what happened, and what was wrong at its end.

    Attributes:
        mode: one of MODES.
        moment: of the disturbance, as a share of the seconds that a build takes.
        shown_early: rows that readers saw before they had passed the tests.
        passed_over: commands that did not stop where docs say that they do.
    """

    seed: int
    kind: str
    mode: str
    moment: float = 0.0
    shown_early: int = 0
    passed_over: int = 0

    @property
    def clean(self) -> bool:
        return super().clean and not (self.shown_early or self.passed_over)


class Player:
    """The feeds, and the builds that bring them in."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._mode = "cold"
        self._usual = dict.fromkeys(MODES, 60.0)  # seconds of a build
        self._places: Path | None = None  # an earlier copy of the checkpoints

    def play(self, seed: int) -> Outcome:
        random, began = Random(seed), time.monotonic()
        self._set(MODES[seed // len(KINDS) % len(MODES)])
        outcome = Outcome(seed, KINDS[seed % len(KINDS)], self._mode, round(random.random(), 2))
        batch = self._feeds.begin(random)
        getattr(self, f"_{outcome.kind}")(outcome, batch)
        outcome.settle(self._build, self._feeds.wrong, began)
        self._copy_places()
        return outcome

    def first_builds(self) -> None:
        """In each mode, so that it is known how long they take."""
        self._set("cold")
        assert self._start("deps").wait(WITHIN) == 0, self._said.read_text()
        for mode in ("cold", "warm", *MODES[::2]):
            self._set(mode)
            self._feeds.begin(Random(0))
            began = time.monotonic()
            status, said = self._build()
            assert status == 0, said
            self._usual[mode] = time.monotonic() - began
        self._copy_places()

    def _set(self, mode: str) -> None:
        self._mode = mode
        self._write()

    def stop(self) -> None:
        words = [*ALLUVIUM, "engine", "stop", "--project-dir", str(self._feeds.root)]
        subprocess.run(words, capture_output=True, timeout=120)

    # What disturbs -------------------------------------------------------------------------------

    def _kill_command(self, outcome: Outcome, _: Any) -> None:
        self._signal(outcome, lambda build: os.kill(build.pid, signal.SIGKILL))

    def _kill_engine(self, outcome: Outcome, _: Any) -> None:
        self._signal(outcome, lambda build: self._kill_jvm(build.pid))

    def _kill_broker(self, outcome: Outcome, _: Any) -> None:
        build = self._start()
        time.sleep(outcome.moment * self._usual[self._mode])
        self._feeds.broker.kill()
        time.sleep(2)
        self._feeds.broker.start_again()
        outcome.said = self._end(build)[-200:]
        outcome.status = build.returncode

    def _term(self, outcome: Outcome, _: Any) -> None:
        self._signal(outcome, lambda build: build.terminate())

    def _interrupt(self, outcome: Outcome, _: Any) -> None:
        self._signal(outcome, lambda build: os.kill(build.pid, signal.SIGINT))

    def _poison(self, outcome: Outcome, _: Any) -> None:
        shown = self._feeds.orders.shown()
        mend = self._feeds.orders.poison()
        build = self._start()
        self._end(build, until=lambda: True)  # of a round
        outcome.status = build.returncode
        outcome.shown_early = len(shown.items() ^ self._feeds.orders.shown().items())
        mend()

    def _two_commands(self, outcome: Outcome, _: Any) -> None:
        build = self._start()
        time.sleep(outcome.moment * self._usual[self._mode])
        other = self._start("build", "--target-path", "target_of_another")
        other.wait(WITHIN)
        self._end(build)
        outcome.status = build.returncode or other.returncode

    def _lost_place(self, outcome: Outcome, _: Any) -> None:
        for stream in self._streams(outcome):
            shutil.rmtree(stream)

    def _old_place(self, outcome: Outcome, _: Any) -> None:
        assert self._places is not None
        outcome.status, _ = self._build()
        streams = self._streams(outcome)
        for stream in streams:
            shutil.rmtree(stream)
            shutil.copytree(self._places / stream.name, stream)
        self._feeds.begin(self._feeds.orders.random)
        if outcome.status == 0:
            # Kafka's stops each command until it is deleted, as docs say; files are compared.
            for _ in range(2):
                outcome.passed_over += not self._stops(
                    "is older than the table. Delete that folder"
                )
            shutil.rmtree(next(stream for stream in streams if TOPIC in stream.name))

    def _stops(self, wanted: str) -> bool:
        """Whether a command of dbt fails with these words."""
        before = self._said.stat().st_size
        status = self._start("build").wait(WITHIN)
        said = self._said.read_bytes()[before:].decode(errors="replace")
        return bool(status) and wanted in " ".join(said.split())

    def _moved(self, outcome: Outcome, _: Any) -> None:
        home = self._feeds.home.with_name(f"home-{outcome.seed}")
        self._feeds.home.rename(home)
        self._feeds.home = home
        self._write()

    def _aborted(self, outcome: Outcome, _: Any) -> None:
        self._feeds.send(self._feeds.orders.draw(), commits=False)

    def _again(self, outcome: Outcome, batch: Any) -> None:
        self._feeds.orders.land(batch)
        self._feeds.send(self._feeds.customers[-40:])

    def _deleted(self, outcome: Outcome, _: Any) -> None:
        outcome.status, _ = self._build()
        if outcome.status == 0:
            for partition in range(PARTITIONS):
                self._feeds.broker.delete_before(TOPIC, partition, 1)
        self._feeds.send(self._feeds.orders.draw())

    # How -----------------------------------------------------------------------------------------

    def _write(self) -> None:
        engine = {"keep_warm": "5 minutes"} if self._mode == "warm" else {}
        self._feeds.write(REPOSITORY, engine)

    def _signal(self, outcome: Outcome, send: Callable[[subprocess.Popen[bytes]], Any]) -> None:
        build = self._start()
        time.sleep(outcome.moment * self._usual[self._mode])
        with suppress(ProcessLookupError):
            send(build)
        self._end(build)
        outcome.status = build.returncode

    def _build(self) -> tuple[int, str]:
        build = self._start()
        said = self._end(build)
        return build.returncode, said

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        """What builds in this mode, or a command of dbt."""
        root = self._feeds.root
        command = [*DBT, *(words or ("build",))]
        if self._mode == "run" and not words:
            self._health.unlink(missing_ok=True)
            command = [*ALLUVIUM, "run", "--select", "*", "--every", "1s"]
        # Not a pipe: nobody reads while a round runs.
        with self._said.open("ab") as said:
            return subprocess.Popen(
                command,
                cwd=root,
                env={
                    **os.environ,
                    "DBT_PROFILES_DIR": str(root),
                    "BROKERS": self._feeds.broker.address,
                },
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )

    def _end(self, build: subprocess.Popen[bytes], until: Callable[[], bool] | None = None) -> str:
        """What a build says until it ends; `alluvium run` is told to, once all is right.

        until: what it is to wait for instead, after a whole round.
        """
        is_run = self._mode == "run"
        end = time.monotonic() + WITHIN / 3
        is_done = until or (lambda: not any(self._feeds.wrong().values()))
        while is_run and build.poll() is None and time.monotonic() < end:
            if self._rounds() and is_done():
                break
            time.sleep(1)
        if is_run:
            with suppress(ProcessLookupError):
                build.terminate()
        build.wait(WITHIN)
        return self._said.read_text(errors="replace")[-4000:]

    @property
    def _said(self) -> Path:
        return self._feeds.root / "said.txt"

    @property
    def _health(self) -> Path:
        return self._feeds.root / "target/alluvium_run.json"

    def _rounds(self) -> int:
        """How many rounds `alluvium run` has made since its start."""
        try:
            found = json.loads(self._health.read_text())["selections"]
        except FileNotFoundError:
            return 0
        return sum(one["rounds"] for one in found)

    def _kill_jvm(self, command: int) -> None:
        state = warm.read(self._feeds.home) if self._mode == "warm" else None
        kill_jvms([state.pid] if state else family(command))

    def _streams(self, outcome: Outcome) -> list[Path]:
        """One of the checkpoints or both, by the round's moment."""
        found = sorted((self._feeds.home / "checkpoints").iterdir())
        return found[: 1 if outcome.moment < 0.5 else 2]

    def _copy_places(self) -> None:
        copy = self._feeds.root / "checkpoints_before"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._feeds.home / "checkpoints", copy)
        self._places = copy


@contextmanager
def players(root: Path, jars: Path) -> Iterator[Callable[[int], Outcome]]:
    home = make_home(root / "home", jars)
    with broker(root / "broker", make_home(root / "broker-home", jars)) as running:
        folder = root / "project"
        folder.mkdir()
        player = Player(Feeds(folder, home, running))
        try:
            player.first_builds()
            yield player.play
        finally:
            player.stop()


if __name__ == "__main__":
    totals = (*WRONG, "shown_early", "passed_over")
    sys.exit(rounds.main("Feeds that are disturbed.", RESULTS, (), totals, None, players))
