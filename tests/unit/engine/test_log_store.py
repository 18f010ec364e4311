"""Which log store local tables get: ours, unless the profile names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from alluvium.engine import log_store
from alluvium.engine.session import Settings, _conf

KEY = "spark.delta.logStore.file.impl"


def conf(home: Path, theirs: dict[str, str]) -> dict[str, str]:
    (home / "logs").mkdir(exist_ok=True)
    found = _conf(Settings(home=home, conf=theirs), [])
    return {key: value for key, value in found.items() if "logStore" in key}


def test_local_tables_get_ours(tmp_path: Path) -> None:
    assert conf(tmp_path, {})[KEY] == log_store.CLASS


@pytest.mark.parametrize(
    "key",
    [KEY, "delta.logStore.file.impl", "spark.delta.logStore.class", "delta.logStore.class"],
)
def test_the_profiles_own_stands_alone(tmp_path: Path, key: str) -> None:
    # Delta refuses one for all schemes beside one for local files.
    assert conf(tmp_path, {key: "my.Store"}) == {key: "my.Store"}


def test_another_schemes_store_changes_nothing(tmp_path: Path) -> None:
    theirs = {"spark.delta.logStore.s3a.impl": "my.Store"}
    assert conf(tmp_path, theirs) == {**theirs, **log_store.conf({})}
