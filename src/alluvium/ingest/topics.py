"""The topics that a Kafka stream's checkpoint has, and those that its source names.

To Spark a partition that it knows and does not find among those it reads is lost data: each run
would fail. So a topic that the source does not name leaves the checkpoint before Spark plans. Its
offsets are noted in `topics.json`: it goes on there if the source names it again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from alluvium.delta import log
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import PLACE
from alluvium.ingest.spec import StreamError, StreamSpec
from alluvium.wording import counted

# By topic and partition, as Spark writes them.
Offsets = dict[str, dict[str, int]]
_NUMBER = "-[0-9]+$"


class Topics:
    """The topics of one checkpoint."""

    def __init__(self, files: Files, place: Checkpoint, spec: StreamSpec):
        self._files = files
        self._place = place
        self._spec = spec
        self._note = f"{place.location}/topics.json"
        noted = json.loads(files.read(self._note) or "{}")
        # The topics that the source named when it was last read, and those that left before.
        self._named: list[str] | None = noted.get("named")
        self._left: Offsets = noted.get("left", {})
        self._ids: dict[str, str] = noted.get("ids", {})

    def check(self, table: str, ids: dict[str, str]) -> None:
        """Note Kafka's ids of the topics.

        Raises:
            StreamError: One has another id: what lies below the offsets that were read would be
                lost, and its places are those of other events.
        """
        if again := [name for name in sorted(ids) if self._ids.get(name, ids[name]) != ids[name]]:
            raise StreamError(
                f"{table}: {', '.join(again)}: made again since it was read, or of another cluster "
                "now. Its offsets begin again, and events below those that were read would be lost."
                " Accepted: --full-refresh, which reads it from its start, without the events of "
                "before; a topic with another name"
            )
        if ids.items() - self._ids.items():
            self._ids |= ids
            self._save()

    def settle(self, session: SparkSession, table: str) -> None:
        """Take the topics out of the checkpoint that the source does not name, and put others back.

        Offsets of the topics that stay are as they were.
        """
        planned = checkpoints.last_epoch(self._files, self._place)
        _, epochs = log.state(session, table)
        committed = planned if epochs.get(self._place.app_id, -1) >= planned else planned - 1
        # What Spark goes on from: the first offsets of all, and those of the last two epochs.
        known = {epoch: self._read(epoch) for epoch in {-1, planned - 1, planned} if epoch >= -1}
        read = known.get(committed) or {}
        if foreign := read.keys() - set(self._spec.topics):
            self._left |= {topic: read[topic] for topic in foreign}
            self._save()
        for epoch, offsets in sorted(known.items()):
            if offsets is not None:
                settled = settled_offsets(offsets, self._spec.topics, self._left)
                if settled != offsets:
                    self._write(epoch, settled)

    def warnings(self, session: SparkSession, table: str) -> Iterator[str]:
        """What is to be told of topics that are not named, once for each list of names."""
        topics = self._spec.topics
        if self._named == sorted(topics):
            return
        source = f"source {self._spec.source}"
        if left := sorted(self._left.keys() - set(topics)):
            yield (
                f"{source}: {', '.join(left)}: no longer read, for `topic` does not name "
                f"{'them' if len(left) > 1 else 'it'}. The others go on where they were"
            )
        if set(PLACE) <= set(session.table(table).columns):
            where = f"regexp_replace({PLACE[0]}, '{_NUMBER}', '') not in {_texts(topics)}"
            foreign = session.table(table).where(where).groupBy(PLACE[0])
            events, held = 0, Offsets()
            for place, number, last in foreign.agg(F.count("*"), F.max(PLACE[1])).collect():
                topic, _, partition = place.rpartition("-")
                held.setdefault(topic, {})[partition] = last + 1
                events += number
            if held:
                # A checkpoint that was lost had them, too.
                self._left = held | self._left
                yield (
                    f"{source}: {table} holds {counted(events, 'event')} of topics that `topic` "
                    f"does not name: {', '.join(sorted(held))}. If they do not belong there, run "
                    "this, and the models that merge it with --full-refresh: delete from "
                    f"{table} where {where}"
                )
        self._named = sorted(topics)
        self._save()

    def _save(self) -> None:
        noted = {"named": self._named, "left": self._left, "ids": self._ids}
        self._files.replace(self._note, json.dumps(noted))

    def _path(self, epoch: int) -> str:
        """The file with the offsets where an epoch ends; of -1, where the first begins."""
        return f"{self._place.location}/{'sources/0/0' if epoch < 0 else f'offsets/{epoch}'}"

    def _read(self, epoch: int) -> Offsets | None:
        last = (self._files.read(self._path(epoch)) or "").strip().splitlines()[-1:]
        return json.loads(last[0]) if last and last[0].startswith("{") else None

    def _write(self, epoch: int, offsets: Offsets) -> None:
        path = self._path(epoch)
        head = (self._files.read(path) or "").rstrip().rpartition("\n")[0]
        self._files.replace(path, f"{head}\n{json.dumps(offsets, separators=(',', ':'))}")


def settled_offsets(offsets: Offsets, topics: Collection[str], left: Offsets) -> Offsets:
    """The offsets of the topics that are named; of one that left and is named again, the old."""
    back = {topic: left[topic] for topic in topics if topic in left}
    return back | {topic: found for topic, found in offsets.items() if topic in topics}


def _texts(names: Iterable[str]) -> str:
    return "(" + ", ".join(f"'{name}'" for name in names) + ")"
