"""The page of a project whose manifest, notes and logs are written by hand."""

from __future__ import annotations

import json
import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.delta_log import ID, add, checkpoint, commit, info, metadata, protocol, remove, txn
from support.shop import HELD, MERGED, NOW, Shop, ago, millis

from alluvium.command import main as command
from alluvium.plan.status import figures, stages
from alluvium.plan.status.figures import Batch, Writes
from alluvium.plan.status.table import FailedAudit
from alluvium.plan.versions.commit import Commit
from alluvium.status import project
from alluvium.status.look import look

VOID = {"meta", "rect", "path", "br"}
EVIL = "<script>alert(1)</script>\"'&"


class Page(HTMLParser):
    """A page read back: its elements, and the text that a person sees; fails where one is not
    closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        # Texts with the element and its class that they stand in.
        self.within: set[tuple[str, str | None, str]] = set()
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append((tag, dict(attrs).get("class")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] != "style":
            self.texts.append(data)
            self.within.add((*self._open[-1], data))

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def names(self) -> set[str]:
        return {name for name, _ in self.elements}


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> Page:
    assert command.main(["report", *arguments]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == Path("target/alluvium.html")
    assert [one.name for one in path.parent.glob("*.html*")] == [path.name]
    return Page(path.read_text(encoding="utf-8"))


def status(capsys: pytest.CaptureFixture[str]) -> list[str]:
    command.main(["status"])
    return capsys.readouterr().out.splitlines()


def test_all_is_well(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(capsys)
    assert "Nothing is wrong: 1 feed as it should be." in page.text
    assert "3 hours since the newest arrival nothing waits, slo 15 minutes" in page.text
    assert "source bronze orders_events" not in page.text
    for said in (
        "bronze orders_events ✓ newest 3 hours ago",
        "candidate orders_wap ✓ nothing waits",
        "audit ✓ version 1 passed",
        "published orders ✓ version 1 of 2 hours ago",
    ):
        assert said in page.text


def test_the_same_as_status(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong comes first, with the sentences of status and its commands, in its order."""
    shop.arrive(2, 1_200, ago(minutes=20))
    shop.merge(2, 1, ago(hours=1))
    shop.note("orders_wap", held=HELD)
    shop.node("logs", "streaming_table")
    said = status(capsys)
    text = report(capsys).text
    sentences = [line.partition(": ") for line in said[:2]]
    assert [name for name, _, _ in sentences] == ["orders", "logs"]
    commands = [line.strip() for line in said if line.startswith("    dbt")]
    assert "dbt build -s +orders_wap+" in commands
    assert len(commands) == 4
    wrong, feeds = text.index("Wrong now"), text.index("Layout and history")
    for shown in [*(sentence for _, _, sentence in sentences), *commands]:
        assert wrong < text.index(shown) < feeds
    assert text.index("✕ wrong orders") < text.index("! notice logs")
    assert "candidate orders_wap ✕ late: 1,200 events wait" in text
    assert "audit ✕ version 2: 2 of 3 tests failed" in text
    assert "published orders ! stays at version 1 of 2 hours ago" in text


def test_what_is_written_by_others_is_text(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Names, descriptions, messages and file names."""
    shop.node(EVIL, "streaming_table", "x")
    of_stream = shop.nodes[f"model.shop.{EVIL}"]
    of_stream["depends_on"]["nodes"] = [f"source.shop.{EVIL}.t"]
    of_stream["alias"] = "evil"
    shop.nodes["model.shop.orders"] |= {"name": f"o{EVIL}", "description": EVIL}
    shop.save()
    place = shop.place("orders_wap")
    written = info("WRITE", millis(ago(hours=1)), userMetadata=EVIL, userName=EVIL)
    commit(place, 2, written, add(EVIL))
    ref = json.dumps({"alluvium_ref": {"kind": "tag", "name": EVIL, "version": 1}})
    commit(place / "_alluvium" / "tags" / "evil", 0, info("CLONE", userMetadata=ref))
    shop.note("orders_wap", held=FailedAudit(ID, 2, 1, {EVIL: EVIL}))
    models = shop.folder / "models" / EVIL.replace("/", "")
    models.mkdir(parents=True)
    (models / "new.yml").touch()
    capsys.readouterr()
    page = report(capsys)
    assert "script" not in page.names()
    assert "alert(1)" not in {value for _, one in page.elements for value in one}
    assert not {name for _, one in page.elements for name in one if name.startswith("on")}
    for where in (
        f"bronze {EVIL}",
        f"source {EVIL}.t",
        f"✕ wrong o{EVIL}",
        f"published o{EVIL}",
        f"tag {EVIL}",
        f"by {EVIL}",
        f"failed: {EVIL} ({EVIL})",
        f"models/{EVIL.replace('/', '')}/new.yml is newer",
    ):
        assert where in page.text
    assert {("q", None, EVIL), ("span", "about", EVIL)} <= page.within


def test_nothing_from_elsewhere(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(capsys)
    text = Path("target/alluvium.html").read_text()
    assert not page.names() & {"script", "link", "img", "iframe", "object", "a", "form", "base"}
    assert not {name for _, one in page.elements for name in one} & {"src", "href", "style"}
    assert not re.search(r"https?:|url\(|@import", text)
    [policy] = [one["content"] for _, one in page.elements if "http-equiv" in one]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_neither_values_nor_options(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in the log and in the manifest, and is nobody's to see."""
    secret = "hunter2"
    bounds = {"id": secret}
    stats = json.dumps({"numRecords": 3, "minValues": bounds, "maxValues": bounds})
    tag = json.dumps({"row_key": "", "level": 1, "lo": secret, "hi": secret})
    file = add(
        f"day={secret}/part",
        stats=stats,
        partitionValues={"day": secret},
        tags={"alluvium.layout": tag},
    )
    asked = {"predicate": secret}
    heads = [protocol(), metadata(properties={"delta.x": secret})]
    commit(shop.place("orders_wap"), 2, info("MERGE", operationParameters=asked), *heads, file)
    shop.node("orders_events", "streaming_table", alluvium_stream={"options": {"password": secret}})
    shop.nodes["model.shop.orders"]["config"]["location_root"] = f"s3a://key:{secret}@bucket/x"
    shop.save()
    page = report(capsys)
    assert "s3a://…@bucket/x/orders is not read" in page.text
    assert secret not in Path("target/alluvium.html").read_text()
    assert secret not in "\n".join(status(capsys))


def test_bounded(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """By the models, not by files, commits, tags and the length of texts."""

    def size() -> int:
        report(capsys)
        return Path("target/alluvium.html").stat().st_size

    place = shop.place("orders_wap")
    for version in range(2, 62):
        shop.merge(version, 1, ago(minutes=90 - version), events=10**9, files_kept=5, files_total=9)
    before = size()
    for version in range(62, 162):
        shop.merge(version, 1, ago(minutes=10), events=10**9, files_kept=5, files_total=9)
    files = [add(f"more-{number}") for number in range(1_000)]
    message = info("WRITE", millis(ago(minutes=5)), userMetadata="long " * 10_000)
    commit(place, 162, message, *files)
    for number in range(50):
        ref = json.dumps({"alluvium_ref": {"kind": "tag", "name": f"t{number}", "version": number}})
        commit(place / "_alluvium" / "tags" / f"t{number}", 0, info("CLONE", userMetadata=ref))
    assert before < 40_000
    assert size() < before + 3_000


def test_charts(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar each batch, the newest on the right; half as many events are half as high."""
    for version, events in ((2, 400), (3, 200)):
        when = ago(minutes=10 * (10 - version))
        shop.merge(version, 1, when, events=events, files_kept=version, files_total=8)
    page = report(capsys)
    charts = [one for name, one in page.elements if name == "svg" and one.get("role") == "img"]
    assert [one["aria-label"] for one in charts] == [
        "The last batch: 200 events; 3 in 50 minutes, most 400",
        "The last merge: 3 of 8 files read; 2 merges, 31.2 % read",
    ]
    lines = [one["d"] for name, one in page.elements if name == "path"]
    assert lines[0] is not None
    heights = [float(one) for one in re.findall(r"v-([\d.]+)", lines[0])]
    assert heights == [15, 30, 1]  # the newest first; the third is small, and seen
    assert "version 3 1: HEAD of orders" in page.text


def test_a_stop_is_seen_where_it_is(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Some stage is as bad as its feed, and none is worse."""
    worst = ("unknown", "wrong", "notice", "fine", "idle")

    def check() -> str:
        read = project.read(shop.folder, None, None)
        [one] = look(read, NOW).seen
        tables = [read.table(node) for node in one.parts.nodes]
        found = [
            stages.bronze(tables[0], one.stands, NOW),
            *stages.after_bronze(one.stands, tables[1], tables[2], NOW),
        ]
        states = sorted((stage.state for stage in found), key=worst.index)
        assert states[0] == one.stands.state
        return states[0]

    assert check() == "fine"
    shop.merge(2, 1, ago(hours=1))
    assert check() == "fine"
    shop.publish(2, 1, ago(minutes=30), hold=1)
    assert check() == "notice"
    shop.publish(3, 1, ago(minutes=30))
    shop.note("orders_events", "error")
    assert check() == "notice"
    shop.arrive(2, 5, ago(minutes=20))
    assert check() == "wrong"
    shop.merge(3, 2, ago(minutes=1))
    shop.note("orders_wap", held=HELD)
    assert check() == "wrong"
    shop.place("orders").joinpath("_delta_log", f"{1:020}.json").unlink()
    assert check() == "unknown"
    text = report(capsys).text
    commands = ("fsck --args '{models: [orders]}'", "dbt build -s orders_events+", "Layout and")
    places = [text.index(command) for command in commands]
    assert places == sorted(places)
    shop.publish(1, 1, ago(hours=2))
    place = shop.place("orders_wap")
    (place / "_delta_log" / f"{1:020}.json").write_text('{"commitInfo":\n{}')
    checkpoint(place, 3, [protocol(), metadata(), txn(f"alluvium/{MERGED}/{ID}", 1)])
    assert check() == "unknown"


def test_no_feeds_and_no_look(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.nodes.clear()
    shop.save()
    assert "There are no feeds." in report(capsys).text
    assert command.main(["report", "--home", "none"]) == 2
    assert "there is no home none; accepted: " in capsys.readouterr().err
    Path("target/alluvium.html").unlink()
    Path("target/alluvium.html").mkdir()
    assert command.main(["report"]) == 2
    assert "target/alluvium.html cannot be written (" in capsys.readouterr().err
    assert sorted(one.name for one in Path("target").iterdir()) == [
        *("alluvium.html", "alluvium.json", "manifest.json"),
    ]


def _written(*actions: dict[str, object]) -> list[Commit]:
    return [Commit(0, tuple(map(json.dumps, actions)))]


@pytest.mark.parametrize(
    ("actions", "wanted"),
    [
        ([info(), add("a", 10), add("b", 5)], (15, 0)),
        # Rows of other files; and with nothing that goes, the same files again.
        ([info(), remove("a"), add("b", 7, dataChange=False)], (0, 7)),
        ([info(), add("a", 7, dataChange=False)], (0, 0)),
        # Another deletion vector of a file makes no new file.
        ([info(), remove("a"), add("a", 10), add("b", 2)], (2, 0)),
        ([info("RESTORE"), add("a", 10)], (0, 0)),
    ],
)
def test_bytes_written(actions: list[dict[str, object]], wanted: tuple[int, int]) -> None:
    found = figures.writes(_written(*actions))
    assert (found.written, found.rewritten) == wanted
    assert Writes(2, 10, 25).amplification == 3.5
    assert Writes(2, 0, 25).amplification is None


def test_batches() -> None:
    """Of a merge, of a stream, of another writer; compactions bring no rows."""
    at, time = 1_700_000_000_000, datetime.fromisoformat("2023-11-14T22:13:20+00:00")
    merge = {"events": 7, "files_kept": 2, "files_total": 3}
    noted = json.dumps({"alluvium_merge": merge})
    metrics = {"numOutputRows": "99", "executionTimeMs": "1500"}
    [found] = figures.batches(
        _written(info("MERGE", at, userMetadata=noted, operationMetrics=metrics))
    )
    assert found == Batch(0, time, 7, 1.5, 2, 3)
    noted = json.dumps({"alluvium_stream": {"batch_id": 1}})
    [found] = figures.batches(_written(info(userMetadata=noted, operationMetrics=metrics)))
    assert (found.events, found.files_total) == (99, None)
    copied = {"numOutputRows": "10", "numTargetRowsCopied": "4"}
    [found] = figures.batches(_written(info("MERGE", operationMetrics=copied)))
    assert (found.events, found.seconds) == (6, None)
    assert figures.batches(_written(info("OPTIMIZE"), txn("a", 1))) == ()
