"""The outcomes in docs/change-events.md are those that tests look at."""

from __future__ import annotations

import re
from pathlib import Path

from functional.stream import change_event_cases as cases

PAGE = Path(__file__).parents[3] / "docs/change-events.md"


def test_each_line_of_the_table_has_cases() -> None:
    found = re.search(r"\| event \| outcome \|\n\|---\|---\|\n(.*?)\n\n", PAGE.read_text(), re.S)
    assert found
    lines = [line.removeprefix("| ").split(" | ")[0] for line in found[1].splitlines()]
    assert lines == list(cases.ROWS.values())
    looked_at = {case.row for _, events in cases.GROUPS.values() for case in events}
    assert looked_at == cases.ROWS.keys() - {"again"}
