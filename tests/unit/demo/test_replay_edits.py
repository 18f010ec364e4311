"""The feed `edits`: what lands, and that it repeats."""

import json
from pathlib import Path

import pytest

from alluvium.demo.cli import main
from alluvium.demo.edits import read_edits, replay_edits
from alluvium.demo.landing import ReplayError


def lines(landing: Path) -> list[str]:
    return [
        line for path in sorted(landing.rglob("*.jsonl")) for line in path.read_text().splitlines()
    ]


def test_all_edits_land_and_some_twice(tmp_path: Path) -> None:
    landed = replay_edits(tmp_path)
    assert landed.events == 39_244
    events = [json.loads(line) for line in lines(tmp_path)]
    ids = [event["event_id"] for event in events]
    assert len(ids) == landed.events + landed.duplicated
    assert len(set(ids)) == landed.events == len(set(lines(tmp_path)))
    assert abs(landed.duplicated - 39_244 * 0.015) < 4 * (39_244 * 0.015 * 0.985) ** 0.5
    assert list(events[0]) == [
        "event_id", "time", "channel", "cityName", "comment", "countryIsoCode", "countryName",
        "isAnonymous", "isMinor", "isNew", "isRobot", "isUnpatrolled", "metroCode", "namespace",
        "page", "regionIsoCode", "regionName", "user", "delta", "added", "deleted",
    ]  # fmt: skip


def test_an_edit_lands_in_the_file_of_its_hour(tmp_path: Path) -> None:
    assert replay_edits(tmp_path, hours=6, duplicate_rate=0).files == 6
    for path in tmp_path.rglob("*.jsonl"):
        hour = f"{path.parent.name}T{path.stem}:"
        assert all(json.loads(line)["time"].startswith(hour) for line in path.open())


def test_continuing_lands_the_bytes_of_one_go(tmp_path: Path) -> None:
    replay_edits(tmp_path / "one")
    assert replay_edits(tmp_path / "parts", hours=7).files == 7
    assert replay_edits(tmp_path / "parts", hours=5).files == 5
    replay_edits(tmp_path / "parts")
    assert lines(tmp_path / "parts") == lines(tmp_path / "one")
    assert replay_edits(tmp_path / "parts").files == 0


def test_other_options_never_edit_what_has_landed(tmp_path: Path) -> None:
    replay_edits(tmp_path, hours=8)
    with pytest.raises(ReplayError, match="was landed with other content"):
        replay_edits(tmp_path, duplicate_rate=0.9)
    (tmp_path / "edits/2016-01-01").mkdir()
    (tmp_path / "edits/2016-01-01/00.jsonl").write_text("{}\n")
    with pytest.raises(ReplayError, match="which this replay does not make"):
        replay_edits(tmp_path)


def test_event_ids_are_stable() -> None:
    assert read_edits()[0][1] == "5b77dd62f37eda8225a37da4d33fb115"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["edits", "--landing", str(tmp_path), "--hours", "1"]) == 0
    assert capsys.readouterr().out == (
        "edits: 1 events landed (0 of them late), and 0 duplicates and 0 malformed lines, "
        "in 1 files from 2015-09-08 00:47:08 to 2015-09-08 00:47:08 UTC\n"
    )
