"""The command line of `alluvium run`; what dbt says of the rest is tested with a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alluvium.command import main as command
from alluvium.command.rounds_wanted import Selection, Wanted

PAIR = ["--select", "orders+", "--every", "60s"]


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[Wanted]:
    """What the rounds were begun with; nothing runs."""
    begun: list[Wanted] = []

    class Rounds:
        @staticmethod
        def run(asked: Wanted) -> int:
            begun.append(asked)
            return 75

    monkeypatch.setattr(command, "import_module", lambda name: Rounds)
    return begun


def test_all_of_it(wanted: list[Wanted], tmp_path: Path) -> None:
    more = ["--selector", "daily", "--every", "1d", "--stop-within", "2m", "--max-memory", "4 GiB"]
    more += ["--metrics-file", "m.prom", "--metrics-port", "9100", "--project-dir", str(tmp_path)]
    # The exit status is that of the rounds.
    assert command.main(["run", *PAIR, *more, "--", "--target", "prod", "--threads", "4"]) == 75
    selections = (
        (Selection("--select", "orders+"), 60.0),
        (Selection("--selector", "daily"), 86_400.0),
    )
    assert wanted == [
        Wanted(
            selections=selections,
            folder=tmp_path,
            stop_within=120.0,
            max_memory=4 * 2**30,
            metrics_file=Path("m.prom").absolute(),
            metrics_port=9100,
            dbt=("--target", "prod", "--threads", "4"),
        )
    ]
    assert [one.due for one in wanted[0].turns(5.0).values()] == [5.0, 5.0]


def test_by_default(wanted: list[Wanted]) -> None:
    command.main(["run", *PAIR])
    (found,) = wanted
    assert (found.stop_within, found.max_memory, found.metrics_file) == (20.0, None, None)
    assert (found.metrics_port, found.dbt, found.folder) == (None, (), Path.cwd())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "0 of --select and --selector, 0 of --every; accepted: one --every for each"),
        (["--select", "a"], "1 of --select and --selector, 0 of --every"),
        ([*PAIR, "--every", "5m"], "1 of --select and --selector, 2 of --every"),
        ([*PAIR, *PAIR], "--select orders+ is there twice; accepted: once"),
        (["--select", " ", "--every", "1h"], "nothing is selected; accepted: nodes as dbt"),
        (["--select", "a", "--every", "60"], "'60'; accepted: a time such as 60s, 5m, 2h or 1d"),
        (["--select", "a", "--every", "0s"], "'0s'; accepted: a time such as 60s"),
        ([*PAIR, "--stop-within", "soon"], "'soon'; accepted: a time such as 60s"),
        ([*PAIR, "--max-memory", "4GB"], "'4GB'; accepted: bytes, such as 134217728, 128 MiB"),
        ([*PAIR, "--metrics-port", "70000"], "'70000'; accepted: a number from 1 to 65535"),
        ([*PAIR, "--threads", "4"], "unrecognized arguments: --threads 4"),
    ],
)
def test_mistakes(
    arguments: list[str], said: str, wanted: list[Wanted], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["run", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert not wanted


def test_only_run_hands_options_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["status", "--", "--threads", "4"])
    assert ended.value.code == 2
    assert "-- is not known here" in capsys.readouterr().err


def test_a_selection_is_named_by_its_option() -> None:
    one: dict[Any, int] = {Selection("--select", "daily"): 1, Selection("--selector", "daily"): 2}
    assert len(one) == 2
