"""Builds that a round disturbs and then lets go on: how dbt is started, and what they came to."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

DBT = [sys.executable, "-c", "from dbt.cli.main import cli; cli()"]
WITHIN = 900.0
# A disturbance may meet a build that has done its work; what was killed may need one more build.
BUILDS = 3
# What a comparison of tables with what was sent counts.
WRONG = ("lost", "doubled", "wrong", "bronze_lost", "bronze_doubled")


@dataclass(kw_only=True)
class BuildOutcome:
    """A round of builds.

    Attributes:
        status: exit status of the build that was disturbed.
        builds: until all was right again, the disturbed one left out.
        said: the end of what the last one said, where it failed.
    """

    status: int = 0
    builds: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    bronze_lost: int = 0
    bronze_doubled: int = 0
    seconds: float = 0.0
    said: str = ""

    @property
    def clean(self) -> bool:
        return not any(getattr(self, name) for name in WRONG)

    def settle(
        self,
        build: Callable[[], tuple[int, str]],
        compare: Callable[[], Mapping[str, int]],
        began: float,
    ) -> None:
        """Build until one succeeds, and compare the tables; nothing of it where all is right.

        Args:
            build: runs a build; gives its exit status and what it said.
            compare: counts what is wrong, by the names of WRONG.
            began: when the round did, by the monotonic clock.
        """
        status, said, found = self.status, "", compare()
        while self.builds < BUILDS and (status or (not self.builds and any(found.values()))):
            self.builds += 1
            status, said = build()
            found = compare()
        for name, count in found.items():
            setattr(self, name, count)
        self.wrong += bool(status)
        self.said = "" if self.clean else said[-2000:]
        self.seconds = round(time.monotonic() - began, 1)


def kill_jvms(processes: Iterable[int], how: signal.Signals = signal.SIGKILL) -> None:
    """With kill -9 or another signal, those of the processes that are JVMs."""
    for process in processes:
        with suppress(OSError):
            if Path(f"/proc/{process}/comm").read_text() == "java\n":
                os.kill(process, how)
