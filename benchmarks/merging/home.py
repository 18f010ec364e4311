"""The folder that an embedded Spark of a benchmark works in."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPOSITORY / ".alluvium" / "jars"))


def make_home(folder: Path, jars: Path = JARS) -> Path:
    """Make `folder`, with these jars, so that none is resolved again."""
    folder.mkdir()
    (folder / "jars").symlink_to(jars.resolve())
    return folder
