"""docs/index.md names each page; pages that a script writes are named by the one that it writes."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_each_page_is_in_the_index() -> None:
    named = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text()))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}
    assert len(pages) > 50
    assert pages - named == set()
