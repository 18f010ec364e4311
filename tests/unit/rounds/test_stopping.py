"""Signals to a process of its own: what runs has its time, and is then cancelled."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

# A round that sleeps; cancelled, it says so, or goes on for ever.
ROUND = """
import sys, time
from alluvium.command.stopping import Stop

stop, obeys = Stop(float(sys.argv[1])), sys.argv[2] == "obeys"
with stop.listening():
    print("begun", flush=True)
    while not stop.asked:
        try:
            with stop.running():
                end = time.monotonic() + float(sys.argv[3])
                while time.monotonic() < end:
                    try:
                        time.sleep(0.05)
                    except KeyboardInterrupt:
                        print("cancelled", flush=True)
                        if obeys:
                            raise
                print("done", flush=True)
        except KeyboardInterrupt:
            pass
"""


def ended(*signals: int, within: float, takes: float, obeys: bool = True) -> tuple[int, str, float]:
    """Exit status, what was said, and the seconds from the first signal on."""
    program = ROUND if obeys else ROUND.replace("import sys", "import sys", 1)
    if not obeys:
        program = "import alluvium.command.stopping as s; s._CANCELLED = 1.0\n" + program
    words = [str(within), "obeys" if obeys else "not", str(takes)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)
    began = time.monotonic()
    for one in signals:
        process.send_signal(one)
        time.sleep(0.2)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out, time.monotonic() - began


def test_a_round_has_its_time() -> None:
    status, said, _ = ended(signal.SIGTERM, within=30, takes=3)
    assert (status, said.splitlines()[-1]) == (0, "done")
    assert "SIGTERM: no new round, the running one ends after 30 seconds" in said
    assert "cancelled" not in said


@pytest.mark.parametrize(
    ("signals", "within"), [([signal.SIGTERM], 1), ([signal.SIGINT, signal.SIGINT], 600)]
)
def test_and_is_then_cancelled(signals: list[int], within: float) -> None:
    status, said, seconds = ended(*signals, within=within, takes=600)
    assert (status, said.splitlines()[-1]) == (0, "cancelled")
    assert seconds < 20


def test_what_does_not_end_is_left() -> None:
    status, said, seconds = ended(signal.SIGTERM, within=1, takes=600, obeys=False)
    assert (status, said.splitlines()[-1]) == (0, "cancelled")
    assert seconds < 20
