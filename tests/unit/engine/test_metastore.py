"""The embedded metastore's database: what of it is removed, and what never."""

from __future__ import annotations

from pathlib import Path

import pytest

from alluvium.engine.homes import database, remove_half_made


@pytest.mark.parametrize("properties", ["service.properties", "service.propertiesold"])
def test_a_database_stays(tmp_path: Path, properties: str) -> None:
    (database(tmp_path) / "seg0").mkdir(parents=True)
    (database(tmp_path) / properties).touch()
    remove_half_made(tmp_path)
    assert (database(tmp_path) / "seg0").is_dir()


def test_what_derby_did_not_finish_goes(tmp_path: Path) -> None:
    remove_half_made(tmp_path)
    (database(tmp_path) / "seg0").mkdir(parents=True)
    remove_half_made(tmp_path)
    assert not database(tmp_path).exists()
