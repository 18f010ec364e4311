"""The command `alluvium`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from alluvium.command import rounds_wanted
from alluvium.status import cli
from alluvium.status import project as projects
from alluvium.wording import counted, span

_WORDS = {
    "start": "start it in the foreground, as a service does: until it is stopped",
    "status": "say whether it runs; exit status 1: it does not",
    "stop": "end it, once the command that has it is out",
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("alluvium", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    cli.add_words(commands)
    _add_engine(commands.add_parser("engine", help="the engine that outlives its command"))
    _add_rounds(commands)
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])
    if given.run is None:
        return _rounds(parser, given, words[end + 1 :])
    if end < len(words):
        parser.error("-- is not known here; accepted: `alluvium run … -- options of dbt build`")
    status: int = given.run(given)
    return status


def _add_rounds(commands: Any) -> None:
    command = commands.add_parser(
        "run",
        help="dbt build in rounds, all day, in one process",
        usage="%(prog)s --select NODES --every 60s [...] [-- options of dbt build]",
        description="Builds selections of a project, each once in its period, until SIGTERM. Exit"
        " status 0: it was told to end; 2: no round could go well; 75: above --max-memory.",
    )
    rounds_wanted.add_to(command)
    command.set_defaults(run=None)
    cli.add_project(command)


def _rounds(
    parser: argparse.ArgumentParser, given: argparse.Namespace, options: Sequence[str]
) -> int:
    try:
        wanted = rounds_wanted.wanted(given, options)
    except ValueError as error:
        parser.error(str(error))
    # Of the adapter, as `service` below.
    status: int = import_module("dbt.adapters.alluvium.rounds").run(wanted)
    return status


def _add_engine(parser: argparse.ArgumentParser) -> None:
    parser.description = "The engine that outlives its command: `keep_warm` in the profile."
    words = parser.add_subparsers(required=True, metavar="word")
    for word, runs in (("start", _start), ("status", _status), ("stop", _stop)):
        command = words.add_parser(word, help=_WORDS[word], description=_WORDS[word])
        command.set_defaults(run=runs)
        if word != "start":
            cli.add_places(command)
            continue
        # As dbt has them: the engine is that of a profile.
        for option in ("project-dir", "profiles-dir"):
            command.add_argument(f"--{option}", type=Path)
        for option in ("profile", "target"):
            command.add_argument(f"--{option}")


def _start(given: argparse.Namespace) -> int:
    # Of the adapter, which this library does not know; and dbt takes seconds to load.
    service = import_module("dbt.adapters.alluvium.service")
    status: int = service.serve(given.project_dir, given.profiles_dir, given.profile, given.target)
    return status


def _status(given: argparse.Namespace) -> int:
    from alluvium.engine import warm  # PySpark: `status` of the feeds does without it

    home = _home(given)
    state = warm.read(home)
    if not warm.is_held(home) or (state is None and warm.address(home) is None):
        print(f"{home} has no warm engine")
        return cli.NOT_WELL
    if state is None:
        print(f"{home} has a warm engine of another release of Alluvium")
        return cli.NO_LOOK
    try:
        does, idle, keep, commands, heap, stops = warm.ask(state, "status").split()
    except (OSError, ValueError):
        print(f"{home} has an engine that does not answer: process {state.pid} on {state.host}")
        return cli.NO_LOOK
    since = datetime.fromtimestamp(state.since, UTC).strftime("%Y-%m-%d %H:%M")
    left = max(0, int(keep) - int(idle))
    if does == "busy":
        now = "a command has it" + (", and it ends with it" if stops == "true" else "")
    else:
        now = f"idle for {span(float(idle))}"
        now += f", ends in {span(left)}" if int(keep) else ", a service"
    print(
        f"{home} has a warm engine: process {state.pid} since {since} UTC, {now};"
        f" {counted(int(commands), 'command')}, heap of {int(heap) >> 20} MiB"
    )
    return cli.WELL


def _stop(given: argparse.Namespace) -> int:
    from alluvium.engine import warm

    home = _home(given)
    address = warm.address(home)  # of any release
    if address is None or not warm.is_held(home):
        print(f"{home} has no warm engine")
        return cli.WELL
    try:
        warm.ask(address, "stop")
    except OSError as error:
        print(f"alluvium: the engine of {home} does not answer: {error}", file=sys.stderr)
        return cli.NO_LOOK
    while warm.is_held(home):
        time.sleep(0.1)
    print(f"the warm engine of {home} has ended")
    return cli.WELL


def _home(given: argparse.Namespace) -> Path:
    """The home that is meant: before the first build, the one that a profile has by default."""
    try:
        return projects.read(given.project_dir, given.target, given.home).home
    except projects.ProjectError:
        home: Path = given.home or given.project_dir / ".alluvium"
        return home.resolve()


if __name__ == "__main__":
    sys.exit(main())
