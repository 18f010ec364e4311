"""When `alluvium run` is to end: SIGTERM, SIGINT, and what becomes of a round that runs then."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from alluvium.wording import span

# Seconds that a round has to end, once it is cancelled.
_CANCELLED = 20.0


class Stop:
    """Whether the command is to end: by SIGTERM or SIGINT, and at once by a second one."""

    def __init__(self, within: float) -> None:
        self.asked = False
        self._within = within
        self._is_running = self._is_cancelled = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        handlers = {
            signal.SIGTERM: self._ask,
            signal.SIGINT: self._ask,
            signal.SIGALRM: self._cancel,
        }
        before = {number: signal.signal(number, one) for number, one in handlers.items()}
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, one in before.items():
                signal.signal(number, one)

    @contextmanager
    def running(self) -> Iterator[None]:
        """A round runs: once the command is to end it has its time, and is then cancelled."""
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = False

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if self._is_running:
            when = "now" if again else f"after {span(self._within)}"
            line = f"{signal.Signals(number).name}: no new round, the running one ends {when}\n"
            os.write(2, line.encode())  # `print` may be what was interrupted
            signal.setitimer(signal.ITIMER_REAL, 0.001 if again else self._within)

    def _cancel(self, number: int, frame: FrameType | None) -> None:
        if not self._is_running:
            return
        if self._is_cancelled:
            # A statement that does not end: the JVM ends with this process.
            os._exit(0)
        self._is_cancelled = True
        signal.setitimer(signal.ITIMER_REAL, _CANCELLED)
        raise KeyboardInterrupt  # dbt cancels what runs
