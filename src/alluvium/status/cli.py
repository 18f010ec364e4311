"""The command `alluvium`. Only its `run` needs Spark, and changes tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from alluvium.plan.status import model
from alluvium.plan.status.model import Whole
from alluvium.status import look as looks
from alluvium.status import project as projects
from alluvium.status import rounds_wanted
from alluvium.status.as_json import as_json

# The exit statuses: all is well, a feed is not, and nothing could be looked at.
WELL, NOT_WELL, NO_LOOK = 0, 1, 2


# The adapter's, which imports dbt and Spark; here it is known by its name alone.
_ROUNDS = "dbt.adapters.alluvium.rounds"


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    end = given.index("--") if "--" in given else len(given)
    parser = _parser()
    asked = parser.parse_args(given[:end])
    if asked.run is None:
        return _run(parser, asked, given[end + 1 :])
    if end < len(given):
        parser.error("-- is not known here; accepted: `alluvium run … -- options of dbt build`")
    try:
        project = projects.read(asked.project_dir, asked.target, asked.home)
        status: int = asked.run(project, asked)
        return status
    except projects.ProjectError as error:
        print(f"alluvium: {error}", file=sys.stderr)
        return NO_LOOK


def _status(project: projects.Project, given: argparse.Namespace) -> int:
    only = None if given.model is None else looks.model_named(project, given.model)
    now = projects.now()
    found = looks.look(project, now, only)
    whole = None if only is None else looks.whole(project, only, now)
    try:
        if given.json:
            print(json.dumps(as_json(found, project, whole), indent=1))
        else:
            print("\n".join(_lines(found, whole)))
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NOT_WELL if found.is_wrong else WELL


def _lines(found: looks.Look, whole: Whole | None) -> Iterator[str]:
    if found.stale is not None:
        yield f"{found.stale} is newer than the last parse: this may be out of date"
    if whole is not None:
        yield from model.lines(whole)
    for one in found.feeds:
        yield one.line(found.at)
    if whole is None and not found.feeds:
        yield "there are no feeds"
    if found.due:
        yield "\ndue:"
        yield from (f"  {todo.line()}" for todo in found.due)


def _report(project: projects.Project, given: argparse.Namespace) -> int:
    from alluvium.status import page  # its templates cost status nothing

    print(page.write(project, looks.look(project, projects.now())))
    return WELL


def _metrics(project: projects.Project, given: argparse.Namespace) -> int:
    from alluvium.status import metrics  # what it imports costs status nothing

    shown, runs = metrics.Shown(), metrics.last_run(project.target_folder)
    shown.families = metrics.families(looks.look(project, projects.now()), runs)
    try:
        metrics.write(given.file, shown)
    except OSError as error:
        raise projects.ProjectError(
            f"{given.file} cannot be written ({error}); accepted: a file in a folder"
        ) from error
    return WELL


def _run(parser: argparse.ArgumentParser, given: argparse.Namespace, dbt: Sequence[str]) -> int:
    try:
        wanted = rounds_wanted.wanted(given, dbt)
    except ValueError as error:
        parser.error(str(error))
    status: int = import_module(_ROUNDS).run(wanted)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("alluvium", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    status = commands.add_parser(
        "status",
        help="how the feeds of a project stand, and what is due",
        description="How the feeds of a project stand, worst first, and what is due with its"
        " command. Exit status 1: a feed is late, held back or cannot be read; 2: nothing could"
        " be looked at.",
    )
    status.add_argument("model", nargs="?", help="one model whole, as operations name it")
    status.add_argument("--json", action="store_true", help="as JSON, by docs/status.schema.json")
    status.set_defaults(run=_status)
    report = commands.add_parser(
        "report",
        help="the same as an HTML page",
        description="How the feeds of a project stand, as the HTML page alluvium.html beside"
        " manifest.json; prints its path. Exit status 2: nothing could be looked at or written.",
    )
    report.set_defaults(run=_report)
    metrics = commands.add_parser(
        "metrics",
        help="the same, and what the last command did, as metrics of Prometheus",
        description="How the feeds of a project stand, and what the last dbt command did, as a file"
        " for a textfile collector. Exit status 2: nothing could be looked at or written.",
    )
    metrics.add_argument("--file", type=Path, required=True, help="replaced whole")
    metrics.set_defaults(run=_metrics)
    rounds = commands.add_parser(
        "run",
        help="dbt build in rounds, all day, in one process",
        usage="%(prog)s --select NODES --every 60s [...] [-- options of dbt build]",
        description="Builds selections of a project, each once in its period, until SIGTERM. Exit"
        " status 0: it was told to end; 2: no round could go well; 75: above --max-memory.",
    )
    rounds_wanted.add_to(rounds)
    rounds.set_defaults(run=None)
    for command in (status, report, metrics):
        _add_places(command)
    _add_project(rounds)
    return parser


def _add_project(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--project-dir",
        type=Path,
        default=Path(os.environ.get("DBT_PROJECT_DIR", ".")),
        help="folder of the dbt project (default: this one)",
    )


def _add_places(command: argparse.ArgumentParser) -> None:
    _add_project(command)
    command.add_argument(
        "--target",
        type=Path,
        default=os.environ.get("DBT_TARGET_PATH"),
        help="folder that dbt writes manifest.json to (default: target)",
    )
    command.add_argument(
        "--home", type=Path, help="folder of the tables (default: that of the last build)"
    )
