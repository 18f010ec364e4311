"""The outcomes in tables of the pages are those that tests look at."""

from __future__ import annotations

import re
from pathlib import Path

from functional.merge import kept_rows
from functional.stream import change_event_cases as cases
from functional.stream import kafka_project

TESTS = Path(__file__).parents[2]
DOCS = TESTS.parent / "docs"


def lines_of(page: str, *columns: str) -> list[list[str]]:
    """The cells of a table's lines, by the names of its columns."""
    head = re.escape(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n")
    found = re.search(rf"{head}(.*?)\n\n", (DOCS / page).read_text(), re.S)
    assert found
    return [line.strip("| ").split(" | ") for line in found[1].splitlines()]


def test_each_change_event_has_cases() -> None:
    lines = [line[0] for line in lines_of("change-events.md", "event", "outcome")]
    assert lines == list(cases.ROWS.values())
    looked_at = {case.row for _, events in cases.GROUPS.values() for case in events}
    assert looked_at == cases.ROWS.keys() - {"again"}
    file, name = cases.AGAIN
    assert f"\ndef {name}(" in (TESTS / file).read_text()


def test_each_of_kafkas_bad_days_has_a_test() -> None:
    lines = [line[0] for line in lines_of("streaming.md", "what happens", "what a run does")]
    assert lines == list(kafka_project.ROWS)
    for file, name in kafka_project.ROWS.values():
        assert f"\ndef {name}(" in (TESTS / file).read_text()


def test_each_outcome_of_a_column_that_an_event_leaves_out_is_drawn() -> None:
    """`test_merge_kept.py` asserts that its histories meet each of them."""
    lines = lines_of("merge.md", "that event", "the table's row", "the column becomes")
    assert [tuple(line[:2]) for line in lines] == list(kept_rows.ROWS.values())
