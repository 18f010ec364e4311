"""The command `alluvium`: what it knows needs no Spark, and changes nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from alluvium.status import look as looks
from alluvium.status import project as projects
from alluvium.status.as_json import as_json

# The exit statuses: all is well, a feed is not, and nothing could be looked at.
WELL, NOT_WELL, NO_LOOK = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        project = projects.read(given.project_dir, given.target, given.home)
        only = None if given.model is None else looks.model_named(project, given.model)
        now = projects.now()
        found = looks.look(project, now, only)
        if given.json:
            print(json.dumps(as_json(found, project), indent=1))
        else:
            if found.stale is not None:
                print(f"{found.stale} is newer than the last parse: this may be out of date")
            if only is not None:
                print("\n".join(looks.whole(project, only, now)))
            for one in found.feeds:
                print(one.line(now))
            if only is None and not found.feeds:
                print("there are no feeds")
            if found.due:
                print("\ndue:")
                for todo in found.due:
                    print(f"  {todo.line()}")
    except projects.ProjectError as error:
        print(f"alluvium: {error}", file=sys.stderr)
        return NO_LOOK
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NOT_WELL if found.is_wrong else WELL


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
    status.add_argument(
        "--project-dir",
        type=Path,
        default=Path(os.environ.get("DBT_PROJECT_DIR", ".")),
        help="folder of the dbt project (default: this one)",
    )
    status.add_argument(
        "--target",
        type=Path,
        default=os.environ.get("DBT_TARGET_PATH"),
        help="folder that dbt writes manifest.json to (default: target)",
    )
    status.add_argument(
        "--home", type=Path, help="folder of the tables (default: that of the last build)"
    )
    status.add_argument("--json", action="store_true", help="as JSON, by docs/status.schema.json")
    return parser
