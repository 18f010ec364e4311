"""The feed `runways`: what lands, that it repeats, and that it leads to the published tables."""

from __future__ import annotations

import json
import runpy
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from oracle import runways

from alluvium.demo.cli import main
from alluvium.demo.landing import ReplayError
from alluvium.demo.runways import read_publishes, replay_runways

# Landing file and version of each publish.
PUBLISHES = {
    "2025-01-30/0853.jsonl": 1006,
    "2025-01-31/0853.jsonl": 1007,
    "2025-01-31/1240.jsonl": 1008,
    "2025-02-01/0118.jsonl": 1009,
    "2025-02-02/1955.jsonl": 1010,
}


def contents(landing: Path) -> dict[str, bytes]:
    folder = landing / "runways"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.jsonl"))
    }


@pytest.fixture
def landed(amount: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("runways")
    result = replay_runways(folder, 9)
    assert (result.files, result.ended) == (5, True)
    whole = 46_604 if amount == "all" else runways.as_of(1006).num_rows
    assert result.events == whole + 1 + whole + whole + 15
    assert whole > 1000
    return contents(folder)


def test_of_all_runways_all_land() -> None:
    """Their numbers, without a line of them."""
    publishes = read_publishes()
    assert [one.version for one in publishes] == list(PUBLISHES.values())
    assert [len(one.changes) for one in publishes] == [46_604, 1, 46_604, 46_604, 15]
    assert [one.changes["op"].unique().tolist() for one in publishes[:4]] == [
        ["r"], ["u"], ["d"], ["c"],
    ]  # fmt: skip


def test_each_file_leads_to_the_table_that_was_published(landed: dict[str, bytes]) -> None:
    assert list(landed) == list(PUBLISHES)
    rows: dict[int, dict[str, Any]] = {}
    for name, content in landed.items():
        events = [json.loads(line) for line in content.splitlines()]
        assert {event["source"]["version"] for event in events} == {PUBLISHES[name]}
        for event in events:
            if event["op"] == "d":
                del rows[event["before"]["id"]]
            else:
                assert (event["after"]["id"] in rows) == (event["op"] == "u")
                rows[event["after"]["id"]] = event["after"]
        found = pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=runways.IMAGE)
        assert found.equals(runways.as_of(PUBLISHES[name])), name


def test_an_event_has_the_time_of_its_publish(landed: dict[str, bytes]) -> None:
    times = {
        json.loads(content.splitlines()[0])["ts_ms"] // 1000: name
        for name, content in landed.items()
    }
    expected = {
        int(pa.compute.cast(pa.scalar(at), pa.timestamp("s", "UTC")).value): version
        for version, at in runways.changes().groupby("version")["ts"].first().items()
        if version in PUBLISHES.values()
    }
    assert {at: PUBLISHES[name] for at, name in times.items()} == expected


def test_continuing_lands_the_bytes_of_one_go(tmp_path: Path, landed: dict[str, bytes]) -> None:
    assert replay_runways(tmp_path, 1).files == 1
    assert replay_runways(tmp_path, 2).files == 3
    # The same day again.
    assert replay_runways(tmp_path, 1, date(2025, 1, 30)).unchanged_files == 1
    # One that was interrupted is completed.
    (tmp_path / "runways/2025-02-01/0118.jsonl").unlink()
    (tmp_path / "runways/2025-01-31/1240.jsonl").unlink()
    assert replay_runways(tmp_path, 1).files == 2
    assert replay_runways(tmp_path, 1).files == 1
    assert contents(tmp_path) == landed
    assert replay_runways(tmp_path, 1).files == 0


@pytest.mark.usefixtures("amount")
def test_what_has_landed_is_never_edited(tmp_path: Path) -> None:
    replay_runways(tmp_path, 1)
    file = tmp_path / "runways/2025-01-30/0853.jsonl"
    file.write_text("{}\n")
    with pytest.raises(ReplayError, match="was landed with other content"):
        replay_runways(tmp_path, 1)
    file.rename(file.with_name("0854.jsonl"))
    with pytest.raises(ReplayError, match="which this replay does not make"):
        replay_runways(tmp_path, 1)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["runways", "--landing", str(tmp_path)]
    assert main([*command, "--from", "2025-02-02"]) == 0
    assert capsys.readouterr().out == (
        "runways: 15 events landed (0 of them late), and 0 duplicates and 0 malformed lines, "
        "in 1 files from 2025-02-02 19:55:49 to 2025-02-02 19:55:49 UTC; the feed ends here\n"
    )
    assert main([*command, "--from", "2025-02-03"]) == 2
    assert capsys.readouterr().err == (
        "alluvium-replay: the runways feed has no day 2025-02-03; accepted: 2025-01-30"
        " to 2025-02-02\n"
    )


def test_what_the_script_prints_on_a_slow_machine() -> None:
    published = runpy.run_path(str(Path(__file__).parents[3] / "scripts/replay-runways"))[
        "published"
    ]
    said = [
        "runways_wap: 46,604 events → 46,604 upserts in 58.9 s",
        "runways: running for 10 seconds",
        "runways: running for 30 seconds, 1 of 2 tasks done",
        "runways: 4 tests passed → version 4 of runways_wap published, 1 file in, 1 out in 31.2 s",
    ]
    assert published(said).startswith("4 tests passed → version 4")
