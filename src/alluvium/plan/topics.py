"""What a run does with Kafka's topics: what it would read next, beside what the broker has of it.

Spark passes over records that are gone, or plans a micro-batch that fails in each run. So this is
decided before it plans.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from alluvium.wording import listed

Offsets = dict[str, dict[str, int]]
"""By topic and partition, as Spark writes them."""


@dataclass(frozen=True)
class Partition:
    """What a broker has of a partition, as offsets.

    Attributes:
        first: Of its oldest record.
        stable: Where its oldest open transaction begins; ``end`` where none is open.
        end: Behind its newest record.
    """

    first: int
    stable: int
    end: int


@dataclass(frozen=True)
class Topic:
    """A topic that is there.

    Attributes:
        id: Kafka's own, another one once the topic is made again; None where the broker has none.
        partitions: By their number.
    """

    id: str | None
    partitions: Mapping[str, Partition]


Look = Mapping[str, Topic]


@dataclass(frozen=True)
class Known:
    """What a checkpoint knows of its topics.

    Attributes:
        read: Where each partition goes on; None before the first run.
        planned: Where the micro-batch ends that was planned and not committed; None for none.
        ids: Of the topics that were seen.
        partitions: How many of a topic were seen by a run that ended.
        made: How often a topic was made, if more than once.
    """

    read: Offsets | None = None
    planned: Offsets | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    made: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What a run does before Spark plans.

    Attributes:
        stops: Why nothing may be read, topic by topic.
        waits: Whether a transaction is open below what was read. Then nothing is planned.
        start: Where partitions go on instead; of a topic that was made again all of them.
        again: Topics that were made again.
        lost: The first offset of a place that is lost, and the first one that is there.
        warnings: What is to be told, though the run goes on.
    """

    stops: tuple[str, ...] = ()
    waits: bool = False
    start: Offsets = field(default_factory=dict)
    again: tuple[str, ...] = ()
    lost: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def label(topic: str, made: Mapping[str, int]) -> str:
    """A topic's name in places; one that was made again has its number, as ``orders#2``."""
    return f"{topic}#{made[topic]}" if made.get(topic, 1) > 1 else topic


def decide(known: Known, look: Look, topics: Collection[str], model: str, accepts: bool) -> Step:
    """What to do with the topics that a source names.

    Args:
        known: What the checkpoint knows.
        look: What the broker has.
        topics: The names.
        model: The model's name, for the command that is accepted.
        accepts: Whether the user accepts for this run that records are lost.
    """
    if known.read is None:
        return Step()  # Spark begins where the source says
    stops: list[str] = []
    warnings: list[str] = []
    start: Offsets = {}
    again: list[str] = []
    lost: dict[str, tuple[int, int]] = {}
    waits = False
    for topic in sorted(set(topics)):
        read, seen = known.read.get(topic), look.get(topic)
        planned = (known.planned or {}).get(topic, {})
        if seen is None:
            if read or planned:
                stops.append(
                    f"{topic}: was there before, and is gone or may not be described. Accepted: "
                    "the topic made again; `topic` without it"
                )
            continue
        if why := _made_again(topic, known, seen):
            again.append(topic)
            start[topic] = {number: of.first for number, of in seen.partitions.items()}
            if not accepts:
                next_one = label(topic, {topic: known.made.get(topic, 1) + 1})
                stops.append(
                    f"{topic}: {why}. Its offsets begin again, and events below those that were "
                    f"read would be lost. Accepted: {_command(model)}, which reads it from its "
                    f"start as {next_one}; --full-refresh, which does so without the events of "
                    "before; a topic with another name"
                )
            continue
        gone = {}
        for number, of in seen.partitions.items():
            place = f"{label(topic, known.made)}-{number}"
            wanted = _wanted(known, topic, number, of)
            if of.first > wanted:
                gone[place] = (wanted, of.first)
            # To Spark a new partition that does not begin at 0 is lost data, and a micro-batch that
            # was planned without it cannot be run again.
            is_unplanned = known.planned is not None and number not in planned
            if of.first > (read or {}).get(number, 0) or is_unplanned:
                start.setdefault(topic, {})[number] = of.first
            waits |= of.stable < max((read or {}).get(number, 0), planned.get(number, 0))
        lost |= gone
        if gone and not accepts:
            told = [
                f"{place}: offset {wanted:,} was next, the first there is {first:,}, "
                f"{first - wanted:,} lost"
                for place, (wanted, first) in sorted(gone.items())
            ]
            stops.append(
                f"records were deleted before they were read: {listed(told, 5)}. Accepted: "
                f"{_command(model)}, which goes on with what is there"
            )
        warnings.extend(_added(known, topic, seen))
    return Step(tuple(stops), waits, start, tuple(again), lost, tuple(warnings))


def settled_offsets(offsets: Offsets, topics: Collection[str], left: Offsets) -> Offsets:
    """The offsets of the topics that are named; of one that left and is named again, the old."""
    back = {topic: left[topic] for topic in topics if topic in left}
    return back | {topic: found for topic, found in offsets.items() if topic in topics}


def moved(offsets: Offsets, step: Step, read: Offsets) -> Offsets:
    """The end of a micro-batch, so that Spark goes on where a step says.

    Args:
        offsets: The end as it was planned.
        read: What was read before it; less was planned where the broker had less for a time.
    """
    ends = {topic: dict(of) for topic, of in offsets.items() if topic not in step.again}
    floors = [{topic: of for topic, of in read.items() if topic in ends}, step.start]
    for floor in floors:
        for topic, of in floor.items():
            known = ends.setdefault(topic, {})
            known.update({number: max(known.get(number, 0), at) for number, at in of.items()})
    return ends


def standing(
    read: Offsets, look: Look, made: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """How many offsets are not read, by place; and where open transactions begin.

    Args:
        read: Where each partition goes on; one that is absent is read from its start.
        look: What the broker has.
        made: How often a topic was made, if more than once.
    """
    lag, waiting = {}, {}
    for topic, seen in sorted(look.items()):
        for number, of in sorted(seen.partitions.items(), key=lambda one: int(one[0])):
            place = f"{label(topic, made)}-{number}"
            lag[place] = max(0, of.end - read.get(topic, {}).get(number, of.first))
            if of.stable < of.end:
                waiting[place] = of.stable
    return lag, waiting


def _made_again(topic: str, known: Known, seen: Topic) -> str | None:
    """Why a topic is not the one that was read; None where it is, as far as anybody knows."""
    noted = known.ids.get(topic)
    if noted and seen.id and noted != seen.id:
        return "made again since it was read, or of another cluster now"
    for offsets in filter(None, (known.read, known.planned)):
        for number, offset in offsets.get(topic, {}).items():
            of = seen.partitions.get(number)
            if of is None:
                return f"made again since it was read, for it has no partition {number} now"
            if of.end < offset:
                return (
                    f"made again since it was read, or cut off, for partition {number} ends at "
                    f"offset {of.end:,}, and {offset:,} was next"
                )
    return None


def _wanted(known: Known, topic: str, number: str, of: Partition) -> int:
    """The offset that is next. What a topic had lost before it was first seen is not missed."""
    read = (known.read or {}).get(topic)
    if read is not None:
        return read.get(number, 0)
    return 0 if topic in known.ids or topic in known.partitions else of.first


def _added(known: Known, topic: str, seen: Topic) -> Iterator[str]:
    """What is told of partitions and topics that no run has read."""
    read, told = (known.read or {}).get(topic), known.partitions.get(topic)
    if told is not None:
        new = [f"{topic}-{number}" for number in seen.partitions if int(number) >= told]
    elif read is not None:
        new = [f"{topic}-{number}" for number in seen.partitions if number not in read]
    else:
        new = [topic] if known.read else []
    if new:
        yield (
            f"{listed(sorted(new), 5)}: new, and read from the start. A key may have events there "
            "and in an older partition now, and then `_source_offset` alone is not their order"
        )


def _command(model: str) -> str:
    return f"--vars 'alluvium_accept_loss: {model}'"
