"""The embedded Spark of a benchmark: its folder and settings; and where results are kept."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPOSITORY / ".alluvium" / "jars"))
# Java's own thresholds: with those of short runs a warm session never gets optimised code.
CONF = {
    "spark.driver.extraJavaOptions": "-XX:Tier4InvocationThreshold=5000"
    " -XX:Tier4MinInvocationThreshold=600 -XX:Tier4CompileThreshold=15000"
    " -XX:Tier4BackEdgeThreshold=40000"
}


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
