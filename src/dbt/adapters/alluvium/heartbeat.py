"""A line for each node that has run for ten seconds, and from then on once a minute."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from itertools import chain

from py4j.protocol import Py4JError
from pyspark import SparkContext

from alluvium.wording import counted, span
from dbt.adapters.alluvium import told

# Seconds after which a node is told of; behind the last one each minute.
_SAID_AFTER = (10, 30, 60)
_EACH = 60
_LOOK = 1.0
# What dbt calls the connections of nodes and of operations. Those of its own may be open and idle.
_NODE = re.compile(r"(?:(?:model|seed|snapshot|test|unit_test|operation)\.[^.]+\.|macro_)(.+)")


@dataclass
class _Running:
    name: str
    context: SparkContext
    since: float = field(default_factory=time.monotonic)
    said: float = 0.0


_guard = threading.Lock()
_running: dict[str, _Running] = {}
_watch: threading.Thread | None = None


def begin(group: str, connection: str, context: SparkContext) -> None:
    """A node begins, whose Spark jobs have this group."""
    global _watch
    found = _NODE.fullmatch(connection)
    if found is None:
        return
    with _guard:
        _running[group] = _Running(found[1], context)
        if _watch is None:
            _watch = threading.Thread(target=_beat, name="alluvium-heartbeat", daemon=True)
            _watch.start()


def end(group: str) -> None:
    """A node has ended."""
    with _guard:
        _running.pop(group, None)


def due(said: float, now: float) -> bool:
    """Whether a line is due `now`, in seconds since the node began; `said`: when the last was."""
    later = range(_SAID_AFTER[-1], int(now) + 1, _EACH)
    return any(said < moment <= now for moment in chain(_SAID_AFTER, later))


def _beat() -> None:
    global _watch
    while True:
        time.sleep(_LOOK)
        with _guard:
            if not _running:
                _watch = None
                return
            late = []
            for group, node in _running.items():
                seconds = time.monotonic() - node.since
                if due(node.said, seconds):
                    node.said = seconds
                    late.append((group, node, seconds))
        for group, node, seconds in late:
            told.say(f"{node.name}: running for {span(seconds)}{_tasks(node.context, group)}")


def _tasks(context: SparkContext, group: str) -> str:
    """How far the jobs of a group are that run now; empty for none, as between two of them."""
    done = tasks = 0
    try:
        tracker = context.statusTracker()
        active = set(tracker.getActiveJobsIds())
        for job in active & set(tracker.getJobIdsForGroup(group)):
            info = tracker.getJobInfo(job)
            for stage in () if info is None else info.stageIds:
                known = tracker.getStageInfo(stage)
                if known is not None:
                    done += known.numCompletedTasks
                    tasks += known.numTasks
    except (Py4JError, OSError):
        return ""  # Spark is about to end
    return f", {done:,} of {counted(tasks, 'task')} done" if tasks else ""
