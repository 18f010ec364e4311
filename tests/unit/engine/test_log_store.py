"""Which log store local tables get: ours, unless the profile names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from alluvium.engine import log_store
from alluvium.engine.context import Settings, conf_of

REGION = "spark.hadoop.fs.s3a.endpoint.region"
KEY = "spark.delta.logStore.file.impl"


VACUUMS = "spark.databricks.delta.vacuum.logging.enabled"


def every(home: Path, theirs: dict[str, str]) -> dict[str, str]:
    (home / "logs").mkdir(exist_ok=True)
    return conf_of(Settings(home=home, conf=theirs), [])


def conf(home: Path, theirs: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in every(home, theirs).items() if "logStore" in key}


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


def test_s3_has_a_store_where_it_is_named(tmp_path: Path) -> None:
    assert not [key for key in conf(tmp_path, {}) if "s3a" in key]
    for key, value in (("spark.sql.warehouse.dir", "s3a://lake/w"), (REGION, "eu-west-1")):
        found = conf(tmp_path, {key: value})
        assert found["spark.delta.logStore.s3a.impl"] == log_store.S3_CLASS
        assert found["spark.hadoop.io.delta.kernel.logStore.s3a.impl"] == log_store.S3_CLASS
        assert found[KEY] == log_store.CLASS


@pytest.mark.parametrize("key", ["spark.delta.logStore.s3a.impl", "delta.logStore.class"])
def test_s3_has_the_profiles_own(tmp_path: Path, key: str) -> None:
    found = conf(tmp_path, {key: "my.Store", REGION: "eu-west-1"})
    assert {value for name, value in found.items() if "s3a" in name} <= {"my.Store"}


def test_a_single_writer_has_deltas_own_on_s3(tmp_path: Path) -> None:
    found = log_store.conf({REGION: "eu-west-1"}, tmp_path, single_writer=True)
    assert found == log_store.conf({})


def test_a_vacuum_on_s3_is_noted(tmp_path: Path) -> None:
    """Delta itself notes it on most other stores; what a profile says stands."""
    assert VACUUMS not in every(tmp_path, {})
    assert every(tmp_path, {REGION: "eu-west-1"})[VACUUMS] == "true"
    assert every(tmp_path, {REGION: "eu-west-1", VACUUMS: "false"})[VACUUMS] == "false"
