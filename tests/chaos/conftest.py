"""The JVMs of rounds start as those of the other tests do."""

from __future__ import annotations

import pytest
from support import quick_java


@pytest.fixture(scope="session", autouse=True)
def _quick_java() -> None:
    quick_java.use()
