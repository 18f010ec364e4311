"""The words `status`, `report` and `metrics`: they need no Spark, and change no table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alluvium.plan.status import model
from alluvium.plan.status.model import Whole
from alluvium.status import look as looks
from alluvium.status import project as projects
from alluvium.status.as_json import as_json

# The exit statuses: all is well, a feed is not, and nothing could be looked at.
WELL, NOT_WELL, NO_LOOK = 0, 1, 2


def _run(given: argparse.Namespace) -> int:
    try:
        project = projects.read(given.project_dir, given.target, given.home)
        status: int = given.look(project, given)
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

    shown, runs = metrics.Served(), metrics.last_run(project.target_folder)
    shown.families = metrics.families(looks.look(project, projects.now()), runs)
    try:
        metrics.write(given.file, shown)
    except OSError as error:
        raise projects.ProjectError(
            f"{given.file} cannot be written ({error}); accepted: a file in a folder"
        ) from error
    return WELL


def add_words(commands: Any) -> None:
    """Add the words to a parser's, each with what runs it as `run`."""
    status = commands.add_parser(
        "status",
        help="how the feeds of a project stand, and what is due",
        description="How the feeds of a project stand, worst first, and what is due with its"
        " command. Exit status 1: a feed is late, held back or cannot be read; 2: nothing could"
        " be looked at.",
    )
    status.add_argument("model", nargs="?", help="one model whole, as operations name it")
    status.add_argument("--json", action="store_true", help="as JSON, by docs/status.schema.json")
    status.set_defaults(run=_run, look=_status)
    report = commands.add_parser(
        "report",
        help="the same as an HTML page",
        description="How the feeds of a project stand, as the HTML page alluvium.html beside"
        " manifest.json; prints its path. Exit status 2: nothing could be looked at or written.",
    )
    report.set_defaults(run=_run, look=_report)
    metrics = commands.add_parser(
        "metrics",
        help="the same, and what the last command did, as metrics of Prometheus",
        description="How the feeds of a project stand, and what the last dbt command did, as a file"
        " for a textfile collector. Exit status 2: nothing could be looked at or written.",
    )
    metrics.add_argument("--file", type=Path, required=True, help="replaced whole")
    metrics.set_defaults(run=_run, look=_metrics)
    for command in (status, report, metrics):
        add_places(command)


def add_project(command: argparse.ArgumentParser) -> None:
    """Add the option that says where a project is."""
    command.add_argument(
        "--project-dir",
        type=Path,
        default=Path(os.environ.get("DBT_PROJECT_DIR", ".")),
        help="folder of the dbt project (default: this one)",
    )


def add_places(command: argparse.ArgumentParser) -> None:
    """Add the options that say where a project and its home are."""
    add_project(command)
    command.add_argument(
        "--target",
        type=Path,
        default=os.environ.get("DBT_TARGET_PATH"),
        help="folder that dbt writes manifest.json to (default: target)",
    )
    command.add_argument(
        "--home", type=Path, help="folder of the tables (default: that of the last build)"
    )
