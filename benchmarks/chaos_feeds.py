"""Two feeds whose builds are disturbed, round after round, against a fold of what was sent.

Run with `make chaos-feeds ROUNDS=n`. One feed lands as files, one comes as change events of a Kafka
broker; both go through bronze, merge, compaction, tests and publish. A round sends events, changes
what builds find, disturbs a build, lets the next one go on, and compares all tables with a fold of
the events in DuckDB. By turns, builds are commands in a warm engine, commands that start cold, and
rounds of `alluvium run`. Kinds, modes and changes are dealt out by seed, each as often.

What disturbs a build, once one of its nodes has begun:

kill_command   dbt gets kill -9
kill_engine    its JVM does
kill_broker    the broker does, and is started again
term           dbt gets SIGTERM
term_engine    its JVM does
interrupt      Ctrl-C
poison         a row breaks a test: readers see none of the batch, until the row is mended
two_commands   a second build begins
full_disk      the home's disk has no room until the build ends; needs the right to mount one

What builds find:

lost_place     the checkpoint of a stream is gone
old_place      the checkpoint of a stream is that of an earlier build
moved          the home lies elsewhere
aborted        a transaction of the topic is aborted
again          all events of the last batch come once more
deleted        what was read of the topic is deleted there
lost           records of the topic are deleted before they are read
lacking        half of the change events leave out a column
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from chaos import rounds
from chaos.builds import DBT, WRONG, BuildOutcome, kill_jvms
from chaos.disk import Disk, disk
from chaos.feeds import TOPIC, Feeds
from chaos.orders import Event
from merging.home import REPOSITORY, family, make_home
from support import quick_java
from support.kafka_broker import broker

from alluvium.engine import warm

RESULTS = REPOSITORY / "benchmarks" / "results" / "chaos_feeds.json"
KINDS = (
    *("kill_command", "kill_engine", "kill_broker", "term", "term_engine", "interrupt"),
    *("poison", "two_commands", "full_disk"),
)
CHANGES = ("lost_place", "old_place", "moved", "aborted", "again", "deleted", "lost", "lacking")
MODES = ("warm", "cold", "run")
STEPS = 11  # of a build: its nodes
WITHIN = 600.0
ALLUVIUM = [
    sys.executable,
    "-c",
    "import sys; from alluvium.command.main import main; sys.exit(main())",
]
Begin = Callable[..., list[Event]]


def dealt(names: Sequence[str], seed: int) -> str:
    """One of the names: each of them comes once in as many seeds."""
    turn, place = divmod(seed, len(names))
    return Random(f"{names} {turn}").sample(names, len(names))[place]


@dataclass
class Outcome(BuildOutcome):
    """A round: what happened, and what was wrong at its end.

    Attributes:
        mode, change: one of MODES and of CHANGES.
        step: how many of its nodes the build had begun when it was disturbed.
        met: whether it ran then.
        shown_early: tables that readers saw between what builds had passed.
        unaudited: versions that they saw and a test would have held.
        passed_over: commands that did not stop where docs say that they do.
        behind: merged tables whose progress is not bronze's newest batch.
        hung: commands that had not ended after ten minutes.
    """

    seed: int
    kind: str
    change: str
    mode: str
    step: int
    met: bool = False
    shown_early: int = 0
    unaudited: int = 0
    passed_over: int = 0
    behind: int = 0
    hung: int = 0

    @property
    def clean(self) -> bool:
        return super().clean and not any(getattr(self, name) for name in TOTALS)


TOTALS = ("shown_early", "unaudited", "passed_over", "behind", "hung")


class Player:
    """The feeds, and the builds that bring them in."""

    def __init__(self, feeds: Feeds, disk: Disk) -> None:
        self._feeds, self._disk = feeds, disk
        self._random = Random()
        self._mode = "cold"
        self._places: list[Path] = []  # copies of the checkpoints: of the build before, of the last
        self._commands: list[subprocess.Popen[bytes]] = []  # of this round
        self._began = 0  # where what the last command says begins
        self._hung = 0

    def play(self, seed: int) -> Outcome:
        self._random, self._hung, began = Random(seed), 0, time.monotonic()
        # The mode stays for a while: a warm engine is one that several rounds had.
        outcome = Outcome(
            seed=seed,
            kind=dealt(KINDS, seed),
            change=dealt(CHANGES, seed),
            mode=MODES[seed // len(KINDS) % len(MODES)],
            step=self._random.randrange(STEPS + 1),
        )
        if outcome.kind == "full_disk" and not self._disk.can_be_full:
            outcome.kind = "undisturbed"
        self._commands = []
        self._mode = outcome.mode
        self._write()
        getattr(self, f"_{outcome.change}")(outcome, self._begin)
        getattr(self, f"_{outcome.kind}")(outcome)
        outcome.shown_early += self._feeds.shown_early(outcome.change == "moved")
        if outcome.kind == "poison":
            self._mend()
        outcome.settle(self._build, self._feeds.wrong, began)
        self._feeds.settled()
        outcome.unaudited, outcome.behind = self._feeds.unaudited(), self._feeds.behind()
        outcome.hung = self._hung
        self._copy_places()
        return outcome

    def first_build(self) -> None:
        self._write()
        assert self._wait(self._start("deps")) == 0, self._text()
        self._begin()
        status, said = self._build()
        assert status == 0, said
        self._feeds.settled()
        self._copy_places()

    def _begin(self, lacking: float = 0.0) -> list[Event]:
        return self._feeds.begin(self._random, lacking)

    def stop(self) -> None:
        for command in self._commands:
            if command.poll() is None:  # it has a session of its own
                os.killpg(command.pid, signal.SIGKILL)
        words = [*ALLUVIUM, "engine", "stop", "--project-dir", str(self._feeds.root)]
        subprocess.run(words, capture_output=True, timeout=120)

    # What disturbs -------------------------------------------------------------------------------

    def _kill_command(self, outcome: Outcome) -> None:
        self._signal(outcome, lambda build: os.kill(build.pid, signal.SIGKILL))

    def _kill_engine(self, outcome: Outcome) -> None:
        self._signal(outcome, lambda build: self._signal_jvm(build.pid, signal.SIGKILL))

    def _kill_broker(self, outcome: Outcome) -> None:
        build = self._start_until(outcome)
        self._feeds.broker.kill()
        time.sleep(2)
        self._feeds.broker.start_again()
        self._end(outcome, build)

    def _term(self, outcome: Outcome) -> None:
        self._signal(outcome, lambda build: build.terminate())

    def _term_engine(self, outcome: Outcome) -> None:
        self._signal(outcome, lambda build: self._signal_jvm(build.pid, signal.SIGTERM))

    def _interrupt(self, outcome: Outcome) -> None:
        self._signal(outcome, lambda build: os.kill(build.pid, signal.SIGINT))

    def _poison(self, outcome: Outcome) -> None:
        self._mend = self._feeds.orders.poison()
        self._end(outcome, self._start(), until=lambda: True)
        outcome.met = True

    def _two_commands(self, outcome: Outcome) -> None:
        build = self._start_until(outcome)
        other = self._start("build", "--target-path", "target_of_another")
        other_status = self._wait(other)
        self._end(outcome, build)
        outcome.status = outcome.status or other_status

    def _full_disk(self, outcome: Outcome) -> None:
        build = self._start_until(outcome)
        before, end = self._rounds(), time.monotonic() + WITHIN
        left = self._random.choice((0, 2**12, 2**16))
        # `alluvium run` goes on behind a round that failed.
        while build.poll() is None and self._rounds() == before and time.monotonic() < end:
            self._disk.fill(left)  # once more: something may have been deleted
            time.sleep(0.5)
        self._disk.free()
        self._end(outcome, build)

    def _undisturbed(self, outcome: Outcome) -> None:
        self._end(outcome, self._start())

    # What builds find ----------------------------------------------------------------------------

    def _lost_place(self, _: Outcome, begin: Begin) -> None:
        begin()
        for stream in self._streams():
            shutil.rmtree(stream)

    def _old_place(self, outcome: Outcome, begin: Begin) -> None:
        if len(self._places) < 2:
            begin()
            outcome.wrong += self._build()[0] != 0
            self._copy_places()
        begin()
        for stream in self._streams():
            shutil.rmtree(stream)
            shutil.copytree(self._places[0] / stream.name, stream)
            if TOPIC in stream.name:
                # Kafka's stops each command until it is deleted, as docs say; files are compared.
                for _ in range(2 if self._mode == "warm" else 1):
                    outcome.passed_over += not self._stops("is older than the table. Delete that")
                shutil.rmtree(stream)

    def _moved(self, outcome: Outcome, begin: Begin) -> None:
        begin()
        home = self._feeds.home.with_name(f"home-{outcome.seed}")
        self._feeds.home.rename(home)
        self._feeds.home = home
        self._write()

    def _aborted(self, _: Outcome, begin: Begin) -> None:
        begin()
        self._feeds.send(self._feeds.orders.draw(), commits=False)

    def _again(self, _: Outcome, begin: Begin) -> None:
        self._feeds.orders.land(begin())
        self._feeds.send(self._feeds.customers[-40:])

    def _deleted(self, _: Outcome, begin: Begin) -> None:
        self._feeds.delete_records()
        begin()

    def _lost(self, outcome: Outcome, begin: Begin) -> None:
        self._feeds.lose()
        outcome.passed_over += not self._stops("records were deleted before they were read")
        words = ("--vars", f"alluvium_accept_loss: {TOPIC}_events")
        outcome.passed_over += bool(self._read_topic(*words))
        begin()

    def _lacking(self, _: Outcome, begin: Begin) -> None:
        begin(lacking=0.5)

    # How -----------------------------------------------------------------------------------------

    def _stops(self, wanted: str) -> bool:
        """Whether a command that reads the topic fails with these words."""
        return bool(self._read_topic()) and wanted in " ".join(self._text().split())

    def _read_topic(self, *words: str) -> int:
        return self._wait(self._start("run", "--select", f"{TOPIC}_events", *words))

    def _write(self) -> None:
        engine = {"keep_warm": "5 minutes"} if self._mode == "warm" else {}
        self._feeds.write(REPOSITORY, engine)

    def _start_until(self, outcome: Outcome) -> subprocess.Popen[bytes]:
        """A build, some time after a node of it began; after none, while it starts."""
        build = self._start()
        while build.poll() is None and self._nodes_begun() < outcome.step:
            time.sleep(0.05)
        time.sleep(self._random.uniform(0, 2 if outcome.step else 8))
        outcome.met = build.poll() is None
        return build

    def _nodes_begun(self) -> int:
        return len(re.findall(r"\d+ of \d+ START", self._text()))

    def _signal(self, outcome: Outcome, send: Callable[[subprocess.Popen[bytes]], Any]) -> None:
        build = self._start_until(outcome)
        with suppress(ProcessLookupError):
            send(build)
        self._end(outcome, build)

    def _build(self) -> tuple[int, str]:
        outcome = BuildOutcome()
        self._end(outcome, self._start())
        return outcome.status, outcome.said

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        """What builds in this mode, or a command of dbt."""
        root = self._feeds.root
        command = [*DBT, *(words or ("build",))]
        if self._mode == "run" and not words:
            self._health.unlink(missing_ok=True)
            command = [*ALLUVIUM, "run", "--select", "*", "--every", "1s"]
        # Not a pipe: nobody reads while a round runs.
        self._began = self._said.stat().st_size if self._said.exists() else 0
        with self._said.open("ab") as said:
            started = subprocess.Popen(
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
        self._commands.append(started)
        return started

    def _end(
        self,
        outcome: BuildOutcome,
        build: subprocess.Popen[bytes],
        until: Callable[[], bool] | None = None,
    ) -> None:
        """Wait until a build ends; `alluvium run` is told to, once all is right.

        until: what it is to wait for instead, after a whole round.
        """
        is_run = self._mode == "run"
        looked, end = 0, time.monotonic() + WITHIN / 2
        is_done = until or (lambda: not any(self._feeds.wrong().values()))
        while is_run and build.poll() is None and time.monotonic() < end:
            if (now := self._rounds()) > looked:
                if is_done():
                    break
                looked = now
            time.sleep(0.2)
        if is_run:
            with suppress(ProcessLookupError):
                build.terminate()
        outcome.status = self._wait(build)
        outcome.said = self._text()[-4000:]

    def _wait(self, command: subprocess.Popen[bytes]) -> int:
        try:
            return command.wait(WITHIN)
        except subprocess.TimeoutExpired:
            self._hung += 1
            os.killpg(command.pid, signal.SIGKILL)
            return command.wait()

    def _text(self) -> str:
        """What was said since the last command began."""
        with self._said.open("rb") as said:
            said.seek(self._began)
            return said.read().decode(errors="replace")

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

    def _signal_jvm(self, command: int, how: signal.Signals) -> None:
        state = warm.read(self._feeds.home) if self._mode == "warm" else None
        kill_jvms([state.pid] if state else family(command), how)

    def _streams(self) -> list[Path]:
        """One of the checkpoints, or both."""
        found = sorted((self._feeds.home / "checkpoints").iterdir())
        return self._random.choice((found, found[:1], found[1:]))

    def _copy_places(self) -> None:
        copies = self._feeds.root / "places"
        now = copies / str(time.monotonic_ns())
        shutil.copytree(self._feeds.home / "checkpoints", now)
        self._places = [*self._places[-1:], now]


@contextmanager
def players(root: Path, jars: Path) -> Iterator[Callable[[int], Outcome]]:
    quick_java.use()
    # The broker's JVMs have less.
    os.environ.pop(quick_java.LATER_OPTIONS, None)
    broker_home = make_home(root / "broker-home", jars)
    with disk(root / "disk") as made, broker(root / "broker", broker_home) as running:
        if not made.can_be_full:
            print("no file system can be mounted here: no round of full_disk", flush=True)
        folder = root / "project"
        found: list[Player] = []

        def begun() -> Player:
            home = make_home(made.folder / "home", jars)
            folder.mkdir()
            player = Player(Feeds(folder, home, running), made)
            found.append(player)
            player.first_build()
            return player

        def play(seed: int) -> Outcome:
            player = found[-1] if found else begun()
            outcome = player.play(seed)
            if not outcome.clean:
                # What it left is kept; the next round begins with nothing.
                kept = Path(tempfile.mkdtemp(prefix=f"chaos-feeds-{seed}-"))
                player.stop()
                for one in (folder, made.folder):
                    shutil.copytree(one, kept / one.name, symlinks=True)
                    shutil.rmtree(one, ignore_errors=True)
                print(f"what is wrong there is in {kept}", flush=True)
                running.delete(TOPIC)
                found.clear()
            return outcome

        try:
            yield play
        finally:
            for player in found:
                player.stop()


if __name__ == "__main__":
    totals = (*WRONG, *TOTALS)
    about = "Feeds that are disturbed."
    sys.exit(rounds.main(about, RESULTS, ("met",), totals, None, players))
