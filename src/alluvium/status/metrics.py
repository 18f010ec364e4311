"""How feeds stand and what their last runs did, as metrics of Prometheus.

Times are times, not ages: an age in a file that nobody renews would go on looking well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from alluvium.status.look import Look, SeenFeed
from alluvium.status.project import ProjectError

_DONE = ("success", "pass", "warn")
# Of a node's answer to dbt: what is told of its last run, and how.
_FIGURES = {
    "rows_affected": "Rows that the last run of a node wrote",
    "events": "Events of the last run's batch",
    "rejected": "Events that the last run kept aside",
    "files": "Files that the last run wrote",
    "bytes": "Bytes that the last run wrote",
    "behind_seconds": "Age of the newest event that the last run took in or merged",
}


@dataclass(frozen=True)
class NodeRun:
    """How the last run of a node went.

    Attributes:
        name: of the node.
        kind: its resource type.
        seconds: that it took.
        succeeded: when it last went well, in seconds since 1970; None where that is not known.
        figures: what the adapter answered.
    """

    name: str
    kind: str
    is_done: bool
    seconds: float
    succeeded: float | None
    figures: Mapping[str, Any]

    @property
    def labels(self) -> list[str]:
        return [self.name, self.kind]


def last_run(target: Path) -> dict[str, NodeRun]:
    """What the last command did by its nodes' ids, as `run_results.json` has it; skipped ones not.

    Args:
        target: the folder that dbt writes to.

    Raises:
        ProjectError: the file is not as dbt writes it.
    """
    path = target / "run_results.json"
    try:
        results = json.loads(path.read_bytes())["results"]
        return {one["unique_id"]: _node_run(one) for one in results if one["status"] != "skipped"}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProjectError(
            f"{path} cannot be read ({type(error).__name__}: {error}); accepted: as dbt writes it"
        ) from error


def _node_run(result: Mapping[str, Any]) -> NodeRun:
    kind, _, rest = result["unique_id"].partition(".")
    ends = [one["completed_at"] for one in result.get("timing") or () if one.get("completed_at")]
    is_done = result["status"] in _DONE
    return NodeRun(
        name=rest.partition(".")[2],
        kind=kind,
        is_done=is_done,
        seconds=float(result["execution_time"]),
        succeeded=datetime.fromisoformat(max(ends)).timestamp() if ends and is_done else None,
        figures=result.get("adapter_response") or {},
    )


def families(look: Look, runs: Mapping[str, NodeRun]) -> list[Metric]:
    """All metrics of a look and of what the nodes' last runs did, by their ids."""
    found = [*_of_feeds(look.seen), *_of_runs(runs.values())]
    return [one for one in found if one.samples]


def _of_feeds(feeds: Iterable[SeenFeed]) -> list[Metric]:
    newest = _gauge("newest_event_timestamp_seconds", "Time of a feed's newest arrival")
    looked = _gauge("stream_looked_timestamp_seconds", "When a feed's stream last looked")
    waiting = _gauge("waiting_events", "Events in bronze that are not merged")
    since = _gauge("waiting_since_timestamp_seconds", "When the oldest of them came")
    slo = _gauge("slo_seconds", "How long an event may wait, by the feed's tier")
    late = _gauge("late", "1 where an event waits for longer")
    rejected = _gauge("rejected_last_day", "Events that merges kept aside in the last day")
    held = _gauge("held_back", "1 where an audit holds a version back")
    unknown = _gauge("unreadable", "1 where a log of a feed cannot be read")
    for seen in feeds:
        one, bronze = seen.stands, seen.parts.bronze
        labels = [one.name, "" if bronze is None else bronze.name]
        _add_time(newest, labels, one.newest)
        _add_time(looked, labels, one.looked)
        if bronze is not None and not one.is_damaged:
            waiting.add_metric(labels, 0 if one.waiting is None else one.waiting.events)
        _add_time(since, labels, None if one.waiting is None else one.waiting.since)
        _add(slo, labels, one.slo)
        late.add_metric(labels, one.is_late)
        _add(rejected, labels, one.rejected)
        held.add_metric(labels, one.held_back is not None)
        unknown.add_metric(labels, one.is_damaged)
    return [newest, looked, waiting, since, slo, late, rejected, held, unknown]


def _of_runs(runs: Iterable[NodeRun]) -> list[Metric]:
    of = ("model", "kind")
    seconds = _gauge("node_seconds", "Seconds of a node's last run", *of)
    failed = _gauge("node_failed", "1 where a node's last run failed", *of)
    kept = _gauge("node_kept", "1 where a node's last run left what stood", *of)
    success = _gauge("node_success_timestamp_seconds", "When a node last went well", *of)
    figures = {name: _gauge(f"node_{name}", said, *of) for name, said in _FIGURES.items()}
    lag = _gauge("lag_offsets", "Offsets of Kafka that are not read", "model", "partition")
    for one in runs:
        seconds.add_metric(one.labels, one.seconds)
        failed.add_metric(one.labels, not one.is_done)
        kept.add_metric(one.labels, one.figures.get("kept_since") is not None)
        _add(success, one.labels, one.succeeded)
        for name, gauge in figures.items():
            _add(gauge, one.labels, one.figures.get(name))
        for place, offsets in (one.figures.get("lag") or {}).items():
            lag.add_metric([one.name, place], offsets)
    return [seconds, failed, kept, success, *figures.values(), lag]


def _gauge(name: str, said: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"alluvium_{name}", said, labels=labels or ("model", "source"))


def _add(gauge: GaugeMetricFamily, labels: list[str], value: float | None) -> None:
    if value is not None:
        gauge.add_metric(labels, value)


def _add_time(gauge: GaugeMetricFamily, labels: list[str], time: datetime | None) -> None:
    _add(gauge, labels, None if time is None else time.timestamp())


class Served(Collector):
    """The metrics of the newest look, for those who ask meanwhile."""

    def __init__(self) -> None:
        self.families: list[Metric] = []
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def collect(self) -> list[Metric]:
        return self.families


def write(path: Path, shown: Served) -> None:
    """Replace a file whole, as a `textfile` collector reads it; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_to_textfile(str(path), shown.registry)
