"""What `alluvium run` shows while it runs: a health file, and metrics."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from py4j.protocol import Py4JError

from alluvium.command.rounds_wanted import Selection, Wanted
from alluvium.engine import rounds as between
from alluvium.plan.turns import Turn
from alluvium.status import look, metrics, project
from dbt.adapters.alluvium import noting, told

HEALTH = "alluvium_run.json"
# Seconds between two renewals of the health file while no round runs.
_RENEWED = 15.0
_COUNTED = ("events", "rejected")


class RoundsShown:
    """What the rounds of one command show.

    Args:
        turns: as the rounds change them.
    """

    def __init__(self, wanted: Wanted, turns: Mapping[Selection, Turn]) -> None:
        self._wanted, self._turns = wanted, turns
        self._metrics = metrics.Served()
        self._runs: dict[str, metrics.NodeRun] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._successes: dict[Selection, float] = {}
        self._folder = self._target = Path()
        self._renewed = 0.0

    def begin(self, config: Any) -> None:
        """Show that the command runs; config: the project's. Raises OSError for the port."""
        self._at(config)
        if self._wanted.metrics_port is not None:
            start_http_server(
                self._wanted.metrics_port, "127.0.0.1", registry=self._metrics.registry
            )
        self._renew()

    def alive(self) -> None:
        """Show that the command waits for its next round."""
        if time.monotonic() - self._renewed > _RENEWED:
            self._renew()

    def ended(self, config: Any, selection: Selection, *, is_well: bool, has_results: bool) -> None:
        """Show what a round did; has_results: whether dbt wrote down those of its nodes."""
        self._at(config)
        if is_well:
            self._successes[selection] = time.time()
        if self._wanted.metrics_port is not None or self._wanted.metrics_file is not None:
            # Whatever is wrong with a log or a file, the next round may be right.
            try:
                self._measure(has_results)
            except (OSError, project.ProjectError) as error:
                told.warn(f"metrics were not renewed: {error}")
        self._renew()

    def _at(self, config: Any) -> None:
        self._folder = Path(config.project_root)
        self._target = self._folder / config.target_path

    def _measure(self, has_results: bool) -> None:
        if has_results:
            for node, run in metrics.last_run(self._target).items():
                before = self._runs.get(node)
                if not run.is_done and before is not None:
                    run = replace(run, succeeded=before.succeeded)
                self._runs[node] = run
                for name in _COUNTED:
                    figure, one = run.figures.get(name), (run.name, name)
                    if figure is not None:
                        self._totals[one] = self._totals.get(one, 0) + figure
        known = project.read(self._folder, self._target.resolve(), None)
        seen = look.look(known, project.now())
        self._metrics.families = [*metrics.families(seen, self._runs), *self._of_rounds()]
        if self._wanted.metrics_file is not None:
            metrics.write(self._wanted.metrics_file, self._metrics)

    def _of_rounds(self) -> Iterator[Metric]:
        labels = ["selection"]
        rounds = CounterMetricFamily("alluvium_rounds", "Rounds that ended", labels=labels)
        failures = CounterMetricFamily("alluvium_failures", "Rounds that failed", labels=labels)
        overran = CounterMetricFamily(
            "alluvium_overran", "Rounds that ended when the next was due", labels=labels
        )
        success = GaugeMetricFamily(
            "alluvium_round_success_timestamp_seconds", "When one last went well", labels=labels
        )
        for selection, turn in self._turns.items():
            rounds.add_metric([selection.text], turn.rounds)
            failures.add_metric([selection.text], turn.failures)
            overran.add_metric([selection.text], turn.overran)
            if selection in self._successes:
                success.add_metric([selection.text], self._successes[selection])
        yield from (rounds, failures, overran, success)
        for name in _COUNTED:
            total = CounterMetricFamily(
                f"alluvium_{name}", f"{name.capitalize()} of all rounds", labels=["model"]
            )
            for (model, what), number in self._totals.items():
                if what == name:
                    total.add_metric([model], number)
            yield total
        with suppress(Py4JError):
            yield from _memory()

    def _renew(self) -> None:
        self._renewed = time.monotonic()
        since = time.time() - self._renewed
        selections = [
            {
                "selection": one.text,
                "rounds": turn.rounds,
                "failures": turn.failures,
                "overran": turn.overran,
                "last_success": _utc(self._successes.get(one)),
                "due": _utc(turn.due + since),
                "failed": sorted(turn.failed),
            }
            for one, turn in self._turns.items()
        ]
        health = {"at": _utc(time.time()), "pid": os.getpid(), "selections": selections}
        noting.write(self._target / HEALTH, json.dumps(health, indent=1))


def _memory() -> Iterator[Metric]:
    """What the JVM and all processes of the command hold."""
    heap, resident = between.heap(), between.resident()
    if heap is not None:
        yield GaugeMetricFamily("alluvium_heap_bytes", "Heap of the JVM in use", value=heap)
    if resident is not None:
        yield GaugeMetricFamily(
            "alluvium_resident_bytes", "Memory that its processes hold", value=resident
        )


def _utc(time: float | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")
