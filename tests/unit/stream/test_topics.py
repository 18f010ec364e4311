"""A Kafka checkpoint whose source names other topics than before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from unit.stream.local_files import LocalFiles

from alluvium.delta.log.epochs import Epoch
from alluvium.ingest import StreamError, checkpoint, parse_spec, topics
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.kafka_source import KafkaSource
from alluvium.ingest.topics import Topics
from alluvium.plan.topics import Look, Offsets, Partition, Topic

FILES: Any = LocalFiles()
# The log that a session would read stands in for itself here.
NO_SESSION: Any = None
STREAMING = Path(__file__).parents[3] / "docs/streaming.md"
METADATA = '{"batchWatermarkMs":0}'


def stream(*names: str) -> Any:
    options = {"kafka.bootstrap.servers": "b:1"}
    return parse_spec("raw.t", {"format": "kafka", "topic": list(names), "options": options})


def settle(
    monkeypatch: pytest.MonkeyPatch, place: Checkpoint, committed: int, *names: str
) -> dict[str, Offsets]:
    """Offsets of the checkpoint's files after a run that named these topics."""
    noted(monkeypatch, committed)
    Topics(FILES, place, stream(*names)).settle(NO_SESSION, "t")
    found = {}
    for path in Path(place.location).glob("*/**/*"):
        if path.is_file() and "commits" not in path.parts:
            head, last = path.read_text().rsplit("\n", 1)
            assert head == ("\0v1" if "sources" in path.parts else f"v1\n{METADATA}")
            found[path.relative_to(place.location).as_posix()] = json.loads(last)
    return found


def noted(monkeypatch: pytest.MonkeyPatch, epoch: int, **more: Any) -> None:
    """The newest epoch that the table's log has of the checkpoint."""
    found = SimpleNamespace(newest=lambda *_: Epoch(epoch, **more))
    monkeypatch.setattr(topics, "epochs", found)


def spark(place: Checkpoint, first: Offsets, *ends: Offsets) -> None:
    """What Spark has written: where it began, and the ends of its epochs."""
    FILES.replace(f"{place.location}/sources/0/0", f"\0v1\n{json.dumps(first)}")
    for epoch, end in enumerate(ends):
        FILES.replace(f"{place.location}/offsets/{epoch}", f"v1\n{METADATA}\n{json.dumps(end)}")


def test_a_topic_leaves_and_comes_back_where_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = Checkpoint(str(tmp_path), "c", 0, "t")
    ends = [{"a": {"0": n}, "a-dlq": {"0": 10 + n, "1": n}} for n in (0, 1, 2, 3)]
    spark(place, ends[0], *ends[1:])
    found = settle(monkeypatch, place, 2, "a")
    assert found["sources/0/0"] == {"a": {"0": 0}}
    # Only the two last ones are looked at again.
    assert found["offsets/0"] == ends[1]
    assert (found["offsets/1"], found["offsets/2"]) == ({"a": {"0": 2}}, {"a": {"0": 3}})
    # It is told once; the table has none of its columns to look at.
    session: Any = SimpleNamespace(table=lambda _: SimpleNamespace(columns=[]))
    told = [Topics(FILES, place, stream("a")).told(session, "t") for _ in range(2)]
    gone = "a-dlq: no longer read, for `topic` does not name it. The others go on where they were"
    assert told == [[f"source raw.t: {gone}"], []]
    # Runs go on without it.
    spark(place, found["sources/0/0"], ends[1], found["offsets/2"], {"a": {"0": 9}})
    assert settle(monkeypatch, place, 2, "a")["offsets/2"] == {"a": {"0": 9}}
    found = settle(monkeypatch, place, 2, "a", "a-dlq")
    assert found["offsets/2"] == {"a": {"0": 9}, "a-dlq": {"0": 13, "1": 3}}
    # Later offsets of its own are not put back.
    spark(place, {}, {"a-dlq": {"0": 20}}, {"a-dlq": {"0": 21}})
    assert settle(monkeypatch, place, 1, "a-dlq")["offsets/1"] == {"a-dlq": {"0": 21}}


def test_how_many_events_an_epoch_may_have(tmp_path: Path) -> None:
    """The first begins where Spark began; a partition that comes later begins at 0."""
    place = Checkpoint(str(tmp_path), "c", 0, "t")
    ends = [{"a": {"0": 70, "1": 9}}, {"a": {"0": 75, "1": 9, "2": 4}, "b": {"0": 2}}]
    spark(place, {"a": {"0": 60, "1": 9}}, *ends)
    found = Topics(FILES, place, stream("a", "b"))
    assert [found.most_events(epoch) for epoch in (0, 1)] == [10, 5 + 4 + 2]


@pytest.mark.parametrize(("committed", "offset"), [(1, 7), (0, 5)])
def test_what_was_planned_and_not_committed_was_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, committed: int, offset: int
) -> None:
    place = Checkpoint(str(tmp_path), "c", 0, "t")
    both = [{"a": {"0": n}, "b": {"0": n}} for n in (0, 5, 7)]
    spark(place, both[0], *both[1:])
    found = settle(monkeypatch, place, committed, "a")
    assert (found["offsets/0"], found["offsets/1"]) == ({"a": {"0": 5}}, {"a": {"0": 7}})
    again = settle(monkeypatch, place, committed, "b", "a")
    assert again["offsets/1"] == {"a": {"0": 7}, "b": {"0": offset}}
    assert again["offsets/0"] == {"a": {"0": 5}, "b": {"0": offset}}


def test_nothing_to_settle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = Checkpoint(str(tmp_path), "c", 0, "t")
    assert settle(monkeypatch, place, -1, "a") == {}
    spark(place, {"a": {"0": 0}})
    FILES.replace(f"{place.location}/offsets/0", f"v1\n{METADATA}\n-")
    Topics(FILES, place, stream("b")).settle(NO_SESSION, "t")
    assert Path(f"{place.location}/offsets/0").read_text().endswith("\n-")


@pytest.mark.parametrize(
    ("named", "others"),
    [
        (["orders"], ["orders-dlq", "customer_orders", "orders.v2", "Orders", "order", "orderss"]),
        (["a.b", "c"], ["axb", "a.b.c", "xc", "a.b-c", "ab", "a.b|c"]),
    ],
)
def test_a_name_is_a_whole_name(named: list[str], others: list[str]) -> None:
    feed = stream(*named).resolve("/p", None)
    # Spark searches the pattern, as `re.search` does.
    pattern = KafkaSource(feed)._options()["subscribePattern"]
    assert [name for name in [*named, *others] if re.search(pattern, name)] == named


class KilledError(Exception):
    """The process ends here."""


class Mortal(LocalFiles):
    """Files of a process that is killed at one of its writes: before it, or behind it."""

    def __init__(self, at: float):
        self.left = at

    def replace(self, path: str, text: str) -> None:
        self.left -= 1
        if self.left == -1:
            raise KilledError
        super().replace(path, text)
        if self.left == -0.5:
            raise KilledError


def one(id: str, *ends: int, first: int = 0, stable: int | None = None) -> Topic:
    """A topic whose partitions end there."""
    return Topic(
        id,
        {
            str(number): Partition(first, end if stable is None else stable, end)
            for number, end in enumerate(ends)
        },
    )


def prepare(place: Checkpoint, look: Look, *, accepts: bool = False, files: Any = FILES) -> Topics:
    topics_now = Topics(files, place, stream(*sorted({"a", *look})))
    topics_now.prepare(NO_SESSION, "raw.t", look, accepts_loss=accepts)
    return topics_now


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Checkpoint:
    """A checkpoint whose two epochs the table has: `a` is read to 12, `b` to 5."""
    found = Checkpoint(str(tmp_path), "c", 0, "t")
    noted(monkeypatch, 1)
    spark(found, {"a": {"0": 0}, "b": {"0": 0}}, *({"a": {"0": n}, "b": {"0": 5}} for n in (9, 12)))
    (tmp_path / "c/commits").mkdir()
    return found


def test_a_topic_that_was_made_again(place: Checkpoint) -> None:
    look = {"a": one("1", 12), "b": one("2", 5)}
    prepare(place, look)
    with pytest.raises(StreamError, match=r"raw\.t: b: made again since.*alluvium_accept_loss: t"):
        prepare(place, look | {"b": one("3", 80)})
    prepare(place, look)
    found = prepare(place, look | {"b": one("3", 80, 7)}, accepts=True)
    assert (found.made, found.again) == ({"b": 2}, ["b#2"])
    # Whatever was planned, Spark goes on at the start of the new one.
    for epoch, offset in ((-1, 0), (0, 9), (1, 12)):
        assert found._read(epoch) == {"a": {"0": offset}, "b": {"0": 0, "1": 0}}
    assert prepare(place, look | {"b": one("3", 80, 7)}).made == {"b": 2}


@pytest.mark.parametrize("at", [n / 2 for n in range(12)])
@pytest.mark.parametrize("id", ["1", "9"])
def test_a_kill_at_each_write(place: Checkpoint, at: float, id: str) -> None:
    """Of a step that goes on behind lost records of `a`, and reads `b` from its start."""
    prepare(place, {"a": one("1", 12), "b": one("2", 5)})
    look = {"a": one("1", 50, first=20), "b": one(id if id == "9" else "2", 3)}
    try:
        files = Mortal(at)
        prepare(place, look, accepts=True, files=files)
    except KilledError:
        pass
    else:
        assert files.left >= 0
    # The next run ends what was begun without being told again, or refuses as before.
    note = Path(place.location, "topics.json").read_text()
    accepts = '"made": {}' in note
    if accepts:
        with pytest.raises(StreamError, match=r"20, 8 lost.*b: made again"):
            prepare(place, look)
    found = prepare(place, look, accepts=accepts)
    assert (found.made, found.again, found.lost) == ({"b": 2}, ["b#2"], {"a-0": 8})
    assert found._read(1) == {"a": {"0": 20}, "b": {"0": 0}}
    # Once Spark has read on, nothing is done again.
    spark(place, {}, found._read(1) or {}, {"a": {"0": 50}, "b": {"0": 3}})
    assert prepare(place, look)._read(1) == {"a": {"0": 50}, "b": {"0": 3}}


def test_what_is_lost_is_told_by_the_run_that_succeeds(
    place: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(place, {"a": one("1", 40, first=20), "b": one("2", 5)}, accepts=True)
    found = prepare(place, {"a": one("1", 40, first=25), "b": one("2", 5)}, accepts=True)
    assert found.lost == {"a-0": 13}
    monkeypatch.setattr(found, "_foreign", lambda *_: [])
    found.told(NO_SESSION, "raw.t")
    assert not prepare(place, {"a": one("1", 40, first=25), "b": one("2", 5)}).lost


def test_a_micro_batch_that_was_planned_too_short(
    place: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Spark, when an option made the committed end that of a topic that was read beyond."""
    FILES.replace(f"{place.location}/offsets/2", 'v1\n{}\n{"a":{"0":8},"b":{"0":6}}')
    look = {"a": one("1", 16, stable=8), "b": one("2", 6)}
    found = Topics(FILES, place, stream("a", "b"))
    assert not found.prepare(NO_SESSION, "raw.t", look, accepts_loss=False)
    look = {"a": one("1", 16), "b": one("2", 6)}
    assert found.prepare(NO_SESSION, "raw.t", look, accepts_loss=False)
    assert found._read(2) == {"a": {"0": 12}, "b": {"0": 6}}
    assert found._read(1) == {"a": {"0": 12}, "b": {"0": 5}}


def test_a_checkpoint_that_is_older_than_the_table(
    place: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops in each run, before Spark plans; of a run beside it the words are others."""
    look = {"a": one("1", 50), "b": one("2", 5)}
    noted(monkeypatch, 2)
    with pytest.raises(StreamError, match="another process filled it"):
        prepare(place, look)
    checkpoint.save(FILES, place)
    for _ in range(2):
        with pytest.raises(StreamError, match=r"is older than the table\. Delete that folder"):
            prepare(place, look)
    # Another checkpoint came after this one, and read on.
    noted(monkeypatch, 1, passed_by=3_600_000)
    with pytest.raises(StreamError, match="is older than the table"):
        prepare(place, look)
    assert not Path(place.location, "topics.json").exists()
    noted(monkeypatch, 1)
    prepare(place, look)


@pytest.mark.parametrize(("later", "stops"), [(-5_000, False), (30_000, False), (90_000, True)])
def test_a_plan_that_is_younger_than_the_commit_of_its_number(
    place: Checkpoint, monkeypatch: pytest.MonkeyPatch, later: int, stops: bool
) -> None:
    """As earlier versions planned it on an older checkpoint, in ms; clocks may differ."""
    checkpoint.save(FILES, place)
    planned = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_000_000 + later})
    FILES.replace(f"{place.location}/offsets/1", f'v1\n{planned}\n{{"a":{{"0":40}}}}')
    noted(monkeypatch, 1, at=1_000_000)
    look = {"a": one("1", 50), "b": one("2", 5)}
    if stops:
        with pytest.raises(StreamError, match="is older than the table"):
            prepare(place, look)
    else:
        prepare(place, look)


@pytest.mark.parametrize("given", [None, "10"])
def test_a_commit_of_a_topic_is_bounded(given: str | None) -> None:
    """By the number in docs/streaming.md, or by the user's own."""
    options = {"kafka.bootstrap.servers": "b:1"}
    if given is not None:
        options["maxOffsetsPerTrigger"] = given
    spec = parse_spec("raw.t", {"format": "kafka", "topic": "a", "options": options})
    session = MagicMock()
    KafkaSource(spec.resolve(Path(), None)).stream(session)
    asked = session.readStream.format.return_value.options.call_args.kwargs
    bound = given or "2000000"
    assert asked["maxOffsetsPerTrigger"] == bound
    assert given or f"Kafka: {int(bound):,} offsets" in STREAMING.read_text()
