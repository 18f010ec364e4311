"""The command `alluvium-replay`: public data as landing files, day by day."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import NoReturn

from alluvium.demo.edits import replay_edits
from alluvium.demo.flights import Delivery, replay_flights
from alluvium.demo.landing import ReplayError
from alluvium.demo.runways import replay_runways


class _Parser(argparse.ArgumentParser):
    """One line for an error, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _count(text: str) -> int:
    value = int(text) if text.removeprefix("-").isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}'; accepted: a whole number from 1")
    return value


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}'; accepted: a rate from 0 to 1")
    return value


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}'; accepted: a date YYYY-MM-DD") from None


def _file_minutes(text: str) -> int:
    value = _count(text)
    if 60 % value:
        raise argparse.ArgumentTypeError(f"'{text}'; accepted: minutes that divide an hour")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="alluvium-replay", description=__doc__)
    commands = parser.add_subparsers(dest="feed", required=True, metavar="{flights,edits,runways}")
    usual = Delivery()

    def common(sub: argparse.ArgumentParser) -> Callable[..., argparse.Action]:
        sub.add_argument(
            "--landing", type=Path, required=True, metavar="DIR",
            help="folder that holds the feeds' folders",
        )  # fmt: skip
        return sub.add_argument

    def days(sub: argparse.ArgumentParser) -> Callable[..., argparse.Action]:
        option = common(sub)
        option("--days", type=_count, default=1, metavar="N", help="days to land (%(default)s)")
        option(
            "--from", type=_date, dest="start", metavar="YYYY-MM-DD",
            help="first day; without it, the day after the last one that has landed",
        )  # fmt: skip
        return option

    def delivery(option: Callable[..., argparse.Action]) -> Callable[..., argparse.Action]:
        option(
            "--seed", type=int, default=usual.seed,
            help="picks other lines to deliver badly; the events stay (%(default)s)",
        )  # fmt: skip
        option(
            "--duplicate-rate", type=_rate, default=usual.duplicate_rate, metavar="RATE",
            help="share of the events that land twice (%(default)s)",
        )  # fmt: skip
        return option

    flights = commands.add_parser("flights", help="flights from New York in 2013, as CDC")
    option = delivery(days(flights))
    option(
        "--late-rate", type=_rate, default=usual.late_rate, metavar="RATE",
        help="share of the events that land one hour to one day late (%(default)s)",
    )  # fmt: skip
    option(
        "--malformed-rate", type=_rate, default=usual.malformed_rate, metavar="RATE",
        help="share of the events of which a damaged copy lands as well (%(default)s)",
    )  # fmt: skip
    option(
        "--file-minutes", type=_file_minutes, default=usual.file_minutes, metavar="N",
        help="minutes in a landing file, a divisor of 60 (%(default)s)",
    )  # fmt: skip

    edits = commands.add_parser("edits", help="edits of Wikipedia, append-only")
    option = delivery(common(edits))
    option("--hours", type=_count, metavar="N", help="hours that hold edits to land (all)")
    days(commands.add_parser("runways", help="a table of runways, 2025-01-30 to 2025-02-02"))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0, or 2 after one line that says what is wrong."""
    args = _parser().parse_args(argv)
    try:
        if args.feed == "edits":
            landed = replay_edits(args.landing, args.hours, args.duplicate_rate, args.seed)
        elif args.feed == "runways":
            landed = replay_runways(args.landing, args.days, args.start)
        else:
            delivery = Delivery(
                seed=args.seed,
                late_rate=args.late_rate,
                duplicate_rate=args.duplicate_rate,
                malformed_rate=args.malformed_rate,
                file_minutes=args.file_minutes,
            )
            landed = replay_flights(args.landing, args.days, args.start, delivery)
    except ReplayError as error:
        print(f"alluvium-replay: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"alluvium-replay: cannot write {error.filename or args.landing}: {error.strerror}",
            file=sys.stderr,
        )
        return 2
    print(landed)
    return 0
