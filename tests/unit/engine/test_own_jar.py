"""The jar of the package's own Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from alluvium.engine import EngineError, own_jar


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"alluvium-\w+\.jar cannot be written"):
        own_jar.jar(tmp_path, [])


def test_all_java_is_in_it() -> None:
    folder = Path(own_jar.__file__).parent
    ours = {*own_jar._SOURCES, *own_jar._S3_SOURCES, own_jar._COMPILER}
    assert ours == set(folder.glob("*.java"))
