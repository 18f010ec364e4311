"""How many examples a property draws: few in the quick run, many in the full one."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

# As `make test-full` names it.
_FULL = "search"
_TIMES = 4


def examples(few: int, **more: Any) -> settings:
    """Settings of a property: so many examples, in the full run four times as many."""
    is_full = settings.get_current_profile_name() == _FULL
    return settings(max_examples=few * _TIMES if is_full else few, **more)
