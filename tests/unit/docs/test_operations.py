"""The operations that the pages show take what is written there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = re.compile(r"alluvium\.(\w+)(?:` with `| --args ')(\{.*?\})[`']")
ARGUMENTS = {
    macro["name"]: {one["name"] for one in macro.get("arguments", ())}
    for path in (ROOT / "macros").glob("*/*.yml")
    for macro in yaml.safe_load(path.read_text()).get("macros", ())
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_operations_take_what_a_page_gives_them(page: Path) -> None:
    for name, written in SHOWN.findall(page.read_text()):
        given: Any = yaml.safe_load(re.sub(r"<.*?>|…", "1", written))
        assert given.keys() <= ARGUMENTS[name], (name, written)


def test_the_page_of_commands_names_operations() -> None:
    text = (ROOT / "docs/which-command.md").read_text()
    named = set(re.findall(r"`(?:dbt run-operation )?alluvium\.(\w+)", text))
    assert {"fsck", "recover", "restore", "checkout", "vacuum", "diff", "commits"} <= named
    assert named <= {name.removeprefix("test_") for name in ARGUMENTS}
    assert "docs/which-command.md" in (ROOT / "macros/recovery/fsck.sql").read_text()
