"""The folder that an embedded Spark of a benchmark works in, and how results are kept."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPOSITORY / ".alluvium" / "jars"))


def make_home(folder: Path, jars: Path = JARS) -> Path:
    """Make `folder`, with these jars, so that none is resolved again."""
    folder.mkdir()
    (folder / "jars").symlink_to(jars.resolve())
    return folder


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}"


def keep(path: Path, results: list[dict[str, Any]]) -> None:
    """Put the results among the kept ones, in the place of earlier ones of case and contender."""
    known = json.loads(path.read_text()) if path.exists() else []
    renewed = {(one["case"], one["contender"]) for one in results}
    every = [one for one in known if (one["case"], one["contender"]) not in renewed] + results
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(every, indent=2) + "\n")
