"""What test_seams.py says that it runs is on the page docs/seams.md."""

from __future__ import annotations

import re
from pathlib import Path

from functional.project.seams import SEEN

REPO = Path(__file__).parents[3]


def test_rows_that_are_run_are_on_the_page() -> None:
    page = (REPO / "docs/seams.md").read_text().splitlines()
    first = [line.strip("| ").split(" | ")[0] for line in page if line.startswith("| ")]
    assert SEEN.keys() <= set(first)
    files = (REPO / "tests/functional").rglob("test_*.py")
    tests = "".join(one.read_text() for one in files)
    named = {one for names in SEEN.values() for one in names.split()}
    assert named <= set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))
