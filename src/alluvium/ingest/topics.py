"""The topics that a Kafka stream's checkpoint has, and those that its source names.

To Spark a partition that it knows and does not find among those it reads is lost data: each run
would fail. So a topic that the source does not name leaves the checkpoint before Spark plans. Its
offsets are noted in `topics.json`: it goes on there if the source names it again.

What else is decided before Spark plans (`plan.topics`) is noted whole before the checkpoint
changes. So after a kill the next run ends it, and the first run that succeeds tells what was lost.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from alluvium.delta.log import epochs
from alluvium.engine.files import Files
from alluvium.ingest import checkpoint as checkpoints
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.events import PLACE
from alluvium.ingest.micro_batches import not_alone
from alluvium.ingest.spec import StreamError, StreamSpec
from alluvium.plan.topics import (
    Known,
    Look,
    Offsets,
    Step,
    decide,
    label,
    moved,
    settled_offsets,
    standing,
)
from alluvium.wording import counted

_NUMBER = "(#[0-9]+)?-[0-9]+$"
# So far the clocks of two machines may be apart.
_SKEW_MS = 60_000
_PLACE = re.compile(r"(?P<topic>[^#]+?)(?:#(?P<made>[0-9]+))?-(?P<number>[0-9]+)")


class Topics:
    """The topics of one checkpoint.

    Attributes:
        made: How often a topic was made, if more than once.
        lost: How many offsets are lost by place, and not told of.
        again: Topics that are read from their start again, as places name them, and not told of.
    """

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
        self._partitions: dict[str, int] = noted.get("partitions", {})
        # What the checkpoint is to be changed to.
        self._next: Step | None = None if "next" not in noted else Step(**noted["next"])
        self.made: dict[str, int] = noted.get("made", {})
        self.lost: Counter[str] = Counter(noted.get("lost", {}))
        self.again: list[str] = noted.get("again", [])
        self._look: Look = {}
        self._warnings: tuple[str, ...] = ()

    def prepare(
        self, session: SparkSession, table: str, look: Look | None, *, accepts_loss: bool
    ) -> bool:
        """Change the checkpoint to what source and broker have; whether anything may be read now.

        Args:
            look: What the broker has; None where nobody can look.
            accepts_loss: Go on behind what is lost.

        Raises:
            StreamError: Something is lost, or nobody knows where to go on.
        """
        self._check_age(session, table)
        if self._next is not None:
            self._move(session, table, self._next)  # of a run that was killed
        read, planned = self.settle(session, table)
        if look is None:
            return True
        self._look = look
        if read is None and self._place.skips_known:
            read = self._held(session.table(table), look)
        known = Known(read, planned, self._ids, self._partitions, self.made)
        model = table.rpartition(".")[2].strip("`")
        step = decide(known, look, self._spec.topics, model, accepts_loss)
        if step.stops:
            raise StreamError(f"{table}: {'; '.join(step.stops)}")
        self._warnings = step.warnings
        self._ids |= {topic: seen.id for topic, seen in look.items() if seen.id}
        self.made |= {topic: self.made.get(topic, 1) + 1 for topic in step.again}
        self.again += [label(topic, self.made) for topic in step.again]
        self.lost += Counter({place: there - next for place, (next, there) in step.lost.items()})
        self._next = step if step.start else None
        self._save()
        self._move(session, table, step)
        return not step.waits

    def _check_age(self, session: SparkSession, table: str) -> None:
        """Stop where the table has more of this stream than its checkpoint: it is a copy of before.

        Spark would plan an epoch under a number that the table has, and Delta would skip it.
        """
        # The table first: what it has was planned before, also by a run beside this one.
        noted = epochs.newest(session, table, self._place.app_id)
        planned = checkpoints.last_epoch(self._files, self._place)
        # A plan that is younger than the commit of its number is not what was committed. Earlier
        # versions let Spark plan it.
        is_younger = bool(noted.at) and self._planned_at(planned) > noted.at + _SKEW_MS
        is_behind = noted.number > planned or (noted.number == planned and is_younger)
        if not is_behind and noted.passed_by <= _SKEW_MS:
            return
        now = checkpoints.load(self._files, self._place.root)
        if now is None or now.id != self._place.id:
            raise not_alone(table)
        raise StreamError(
            f"{table}: its checkpoint {self._place.root} is older than the table. Delete that "
            "folder: the next run then reads what the table does not have"
        )

    def settle(self, session: SparkSession, table: str) -> tuple[Offsets | None, Offsets | None]:
        """Take the topics out of the checkpoint that the source does not name, and put others back.

        Offsets of the topics that stay are as they were. Returns what was read, and what was
        planned and not committed; None for nothing.
        """
        planned, committed = self._epochs(session, table)
        # What Spark goes on from: the first offsets of all, and those of the last two epochs.
        known = {epoch: self._read(epoch) for epoch in {-1, planned - 1, planned} if epoch >= -1}
        read = known.get(committed) or {}
        if foreign := read.keys() - set(self._spec.topics):
            self._left |= {topic: read[topic] for topic in foreign}
            self._save()
        for epoch, offsets in sorted(known.items()):
            if offsets is not None:
                known[epoch] = settled = settled_offsets(offsets, self._spec.topics, self._left)
                if settled != offsets:
                    self._write(epoch, settled)
        return known.get(committed), known.get(planned) if planned > committed else None

    def most_events(self, epoch: int) -> int:
        """How many offsets a planned epoch takes: its events, and marks of transactions."""
        begins, ends = self._read(epoch - 1) or {}, self._read(epoch) or {}
        return sum(
            max(0, end - begins.get(topic, {}).get(number, 0))
            for topic, partitions in ends.items()
            for number, end in partitions.items()
        )

    def standing(
        self, session: SparkSession, table: str, look: Look | None
    ) -> tuple[dict[str, int] | None, dict[str, int]]:
        """How many offsets are not read, by place; and where open transactions begin."""
        if look is None:
            return None, {}
        return standing(self._read(self._epochs(session, table)[1]) or {}, look, self.made)

    def told(self, session: SparkSession, table: str) -> list[str]:
        """What is to be told, now that the run has succeeded; once of each thing."""
        source = f"source {self._spec.source}"
        warnings = [f"{source}: {warning}" for warning in self._warnings]
        warnings.extend(self._foreign(session, table, source))
        self._partitions |= {topic: len(seen.partitions) for topic, seen in self._look.items()}
        self._named, self.lost, self.again = sorted(self._spec.topics), Counter(), []
        self._save()
        return warnings

    def _foreign(self, session: SparkSession, table: str, source: str) -> Iterator[str]:
        """What is to be told of topics that are not named, once for each list of names."""
        topics = self._spec.topics
        if self._named == sorted(topics):
            return
        if left := sorted(self._left.keys() - set(topics)):
            yield (
                f"{source}: {', '.join(left)}: no longer read, for `topic` does not name "
                f"{'them' if len(left) > 1 else 'it'}. The others go on where they were"
            )
        if set(PLACE) <= set(session.table(table).columns):
            where = f"regexp_replace({PLACE[0]}, '{_NUMBER}', '') not in {_texts(topics)}"
            held, events = self._places(session.table(table).where(where))
            if held:
                # A checkpoint that was lost had them, too.
                self._left = held | self._left
                yield (
                    f"{source}: {table} holds {counted(events, 'event')} of topics that `topic` "
                    f"does not name: {', '.join(sorted(held))}. If they do not belong there, run "
                    "this, and the models that merge it with --full-refresh: delete from "
                    f"{table} where {where}"
                )

    def _held(self, events: DataFrame, look: Look) -> Offsets:
        """What a table proves to be read, where its checkpoint is lost."""
        held, _ = self._places(events)
        for topic in held.keys() & look.keys():
            # Of a partition without events nobody knows where it was begun.
            firsts = {number: of.first for number, of in look[topic].partitions.items()}
            held[topic] = firsts | held[topic]
        return held

    def _places(self, events: DataFrame) -> tuple[Offsets, int]:
        """What follows the events of each topic as it was last made; and how many there are."""
        held, number = Offsets(), 0
        for place, count, last in (
            events.groupBy(PLACE[0]).agg(F.count("*"), F.max(PLACE[1])).collect()
        ):
            number += count
            if (found := _PLACE.fullmatch(place or "")) is None:
                continue  # a name of the query's own
            topic, made = found["topic"], int(found["made"] or 1)
            if made > self.made.get(topic, 1):
                self.made[topic] = made
                held.pop(topic, None)
            if made == self.made.get(topic, 1):
                held.setdefault(topic, {})[found["number"]] = last + 1
        return held, number

    def _move(self, session: SparkSession, table: str, step: Step) -> None:
        """Let Spark go on where a step says. It may be done twice, but not once Spark has read."""
        planned, committed = self._epochs(session, table)
        if step.start or planned > committed:
            read = self._read(committed) or {}
            # Spark compares what is there with the first offsets of all, too.
            for epoch in {-1, planned - 1, planned} - {-2}:
                if (offsets := self._read(epoch)) is not None:
                    ends = moved(offsets, step, read if epoch > committed else {})
                    if ends != offsets:
                        self._write(epoch, ends)
        self._next = None
        self._save()

    def _epochs(self, session: SparkSession, table: str) -> tuple[int, int]:
        """The last epoch that was planned, and the last one that the table has; -1 for none."""
        planned = checkpoints.last_epoch(self._files, self._place)
        has_all = epochs.newest(session, table, self._place.app_id).number >= planned
        return planned, planned if has_all else planned - 1

    def _save(self) -> None:
        noted: dict[str, Any] = {
            "named": self._named,
            "left": self._left,
            "ids": self._ids,
            "partitions": self._partitions,
            "made": self.made,
            "lost": self.lost,
            "again": self.again,
        }
        if self._next is not None:
            noted["next"] = {"start": self._next.start, "again": self._next.again}
        text = json.dumps(noted)
        if text != self._files.read(self._note):
            self._files.replace(self._note, text)

    def _path(self, epoch: int) -> str:
        """The file with the offsets where an epoch ends; of -1, where the first begins."""
        return f"{self._place.location}/{'sources/0/0' if epoch < 0 else f'offsets/{epoch}'}"

    def _read(self, epoch: int) -> Offsets | None:
        last = (self._files.read(self._path(epoch)) or "").strip().splitlines()[-1:]
        return json.loads(last[0]) if last and last[0].startswith("{") else None

    def _planned_at(self, epoch: int) -> int:
        """When Spark planned an epoch, in ms since 1970; 0 where its file does not say it."""
        lines = (self._files.read(self._path(epoch)) or "").splitlines()[1:2]
        return int(json.loads(lines[0]).get("batchTimestampMs", 0)) if lines else 0

    def _write(self, epoch: int, offsets: Offsets) -> None:
        path = self._path(epoch)
        head = (self._files.read(path) or "").rstrip().rpartition("\n")[0]
        self._files.replace(path, f"{head}\n{json.dumps(offsets, separators=(',', ':'))}")


def _texts(names: Iterable[str]) -> str:
    return "(" + ", ".join(f"'{name}'" for name in names) + ")"
