from __future__ import annotations

from pathlib import Path

import pytest
from support import shop as shops
from support.shop import NOW, Shop

from alluvium.status import project


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setattr(project, "now", lambda: NOW)
    found = shops.shop(tmp_path / "a b%20ü")
    monkeypatch.chdir(found.folder)
    return found
