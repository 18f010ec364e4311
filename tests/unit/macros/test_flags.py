"""dbt gives SQL some of its flags: one that it does not give is false, whatever was asked for."""

from __future__ import annotations

import re
from pathlib import Path

from dbt.flags import get_flag_obj

REPO = Path(__file__).parents[3]


def test_each_flag_that_a_macro_asks_for_is_given() -> None:
    folders = (REPO / "macros", REPO / "src/dbt/include", REPO / "models")
    files = [one for folder in folders for one in folder.rglob("*.sql")]
    asked = {name for one in files for name in re.findall(r"\bflags\.(\w+)", one.read_text())}
    assert "EMPTY" in asked
    assert asked - vars(get_flag_obj()).keys() == set()
