"""What `alluvium run` is asked for on its command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from alluvium.plan.layout.settings import size_of
from alluvium.plan.turns import Turn

_PERIOD = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_STOP_WITHIN = "20s"


@dataclass(frozen=True)
class Selection:
    """Nodes as dbt selects them.

    Attributes:
        option: of `dbt build`: `--select` or `--selector`.
        text: its value.
    """

    option: str
    text: str


@dataclass(frozen=True)
class Wanted:
    """The arguments of `alluvium run`.

    Attributes:
        selections: each with its period in seconds.
        folder: of the dbt project.
        stop_within: seconds that a running round has once the command is to end.
        max_memory: bytes above which the command ends between two rounds; None for any number.
        metrics_file, metrics_port: where metrics go; None for nowhere.
        dbt: further options of `dbt build`.
    """

    selections: tuple[tuple[Selection, float], ...]
    folder: Path
    stop_within: float
    max_memory: int | None
    metrics_file: Path | None
    metrics_port: int | None
    dbt: tuple[str, ...]

    def turns(self, now: float) -> dict[Selection, Turn]:
        """All are due at once, in their order."""
        return {one: Turn(period, now) for one, period in self.selections}


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of `alluvium run`."""
    for option, what in (("--select", "nodes, as dbt selects them"), ("--selector", "a selector")):
        parser.add_argument(
            option,
            dest="selections",
            action="append",
            type=partial(_selection, option),
            metavar=option[2:].upper(),
            help=f"{what}; may be repeated, each with its --every",
        )
    parser.add_argument(
        "--every",
        action="append",
        type=_period,
        metavar="PERIOD",
        help="the period of a selection, in their order: 60s, 5m, 2h or 1d",
    )
    parser.add_argument(
        "--stop-within",
        type=_period,
        default=_STOP_WITHIN,
        metavar="TIME",
        help=f"what a running round has once the command is to end (default: {_STOP_WITHIN})",
    )
    parser.add_argument(
        "--max-memory",
        type=_size,
        metavar="SIZE",
        help="end between rounds, with exit status 75, above so much memory: 4 GiB",
    )
    parser.add_argument(
        "--metrics-file", type=Path, metavar="FILE", help="write metrics there after each round"
    )
    parser.add_argument(
        "--metrics-port", type=_port, metavar="PORT", help="serve metrics there, on loopback alone"
    )


def wanted(given: argparse.Namespace, dbt: Sequence[str]) -> Wanted:
    """What was asked for; raises ValueError where that does not fit together."""
    selections, periods = given.selections or [], given.every or []
    if not selections or len(selections) != len(periods):
        raise ValueError(
            f"{len(selections)} of --select and --selector, {len(periods)} of --every; accepted:"
            " one --every for each, in their order"
        )
    twice = [one for one in selections if selections.count(one) > 1]
    if twice:
        raise ValueError(f"{twice[0].option} {twice[0].text} is there twice; accepted: once")
    return Wanted(
        selections=tuple(zip(selections, periods, strict=True)),
        folder=given.project_dir.resolve(),
        stop_within=given.stop_within,
        max_memory=given.max_memory,
        metrics_file=given.metrics_file and given.metrics_file.resolve(),
        metrics_port=given.metrics_port,
        dbt=tuple(dbt),
    )


def _selection(option: str, text: str) -> Selection:
    if not text.strip():
        raise argparse.ArgumentTypeError("nothing is selected; accepted: nodes as dbt selects them")
    return Selection(option, text)


def _period(text: str) -> float:
    found = _PERIOD.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}; accepted: a time such as 60s, 5m, 2h or 1d")
    return int(found[1]) * _SECONDS[found[2]]


def _size(text: str) -> int:
    try:
        return size_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}; accepted: {error}") from None


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"{text!r}; accepted: a number from 1 to 65535")
    return int(text)
