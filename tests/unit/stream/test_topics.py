"""A Kafka checkpoint whose source names other topics than before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from unit.stream.local_files import LocalFiles

from alluvium.ingest import StreamError, parse_spec, topics
from alluvium.ingest.checkpoint import Checkpoint
from alluvium.ingest.kafka_source import KafkaSource
from alluvium.ingest.topics import Offsets, Topics

FILES: Any = LocalFiles()
# The log that a session would read stands in for itself here.
NO_SESSION: Any = None
METADATA = '{"batchWatermarkMs":0}'


def stream(*names: str) -> Any:
    options = {"kafka.bootstrap.servers": "b:1"}
    return parse_spec("raw.t", {"format": "kafka", "topic": list(names), "options": options})


def settle(
    monkeypatch: pytest.MonkeyPatch, place: Checkpoint, committed: int, *names: str
) -> dict[str, Offsets]:
    """Offsets of the checkpoint's files after a run that named these topics."""
    log = SimpleNamespace(state=lambda *_: ("t", {place.app_id: committed}))
    monkeypatch.setattr(topics, "log", log)
    Topics(FILES, place, stream(*names)).settle(NO_SESSION, "t")
    found = {}
    for path in Path(place.location).glob("*/**/*"):
        if path.is_file() and "commits" not in path.parts:
            head, last = path.read_text().rsplit("\n", 1)
            assert head == ("\0v1" if "sources" in path.parts else f"v1\n{METADATA}")
            found[path.relative_to(place.location).as_posix()] = json.loads(last)
    return found


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
    # Runs go on without it.
    spark(place, found["sources/0/0"], ends[1], found["offsets/2"], {"a": {"0": 9}})
    assert settle(monkeypatch, place, 2, "a")["offsets/2"] == {"a": {"0": 9}}
    found = settle(monkeypatch, place, 2, "a", "a-dlq")
    assert found["offsets/2"] == {"a": {"0": 9}, "a-dlq": {"0": 13, "1": 3}}
    # Later offsets of its own are not put back.
    spark(place, {}, {"a-dlq": {"0": 20}}, {"a-dlq": {"0": 21}})
    assert settle(monkeypatch, place, 1, "a-dlq")["offsets/1"] == {"a-dlq": {"0": 21}}


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


def test_a_topic_that_was_made_again(tmp_path: Path) -> None:
    place = Checkpoint(str(tmp_path), "c", 0, "t")

    def check(**ids: str) -> None:
        Topics(FILES, place, stream("a", "b")).check("raw.t", ids)

    check(a="1")
    check()  # nobody knows
    check(a="1", b="2")
    with pytest.raises(
        StreamError, match=r"raw\.t: b: made again since it was read.*--full-refresh"
    ):
        check(a="1", b="3")
    check(a="1", b="2")
