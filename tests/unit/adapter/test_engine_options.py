"""The JVM's options: ours, unless the profile says otherwise."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from alluvium.engine.context import Settings, conf_of

OPTIONS = "spark.driver.extraJavaOptions"
ZONE = "spark.sql.session.timeZone"


def options(home: Path, **settings: object) -> list[str]:
    (home / "logs").mkdir(exist_ok=True)
    conf = conf_of(Settings(home=home, **settings), [Path("a.jar")])  # type: ignore[arg-type]
    return conf[OPTIONS].split()


def test_local_engine_is_tuned_for_short_runs(tmp_path: Path) -> None:
    found = options(tmp_path)
    assert "-XX:+UseSerialGC" in found
    assert "-XX:Tier4InvocationThreshold=500000" in found
    assert "-Xms1g" in found
    assert f'"-Dderby.system.home={tmp_path / "metastore"}"' in found


def test_the_profile_chooses_the_collector_and_comes_last(tmp_path: Path) -> None:
    found = options(tmp_path, conf={OPTIONS: "-XX:+UseG1GC -Dx=1"})
    assert "-XX:+UseSerialGC" not in found
    assert found[-2:] == ["-XX:+UseG1GC", "-Dx=1"]


def test_the_profile_sizes_the_heap(tmp_path: Path) -> None:
    found = options(tmp_path, conf={"spark.driver.memory": "512m"})
    assert not [option for option in found if option.startswith(("-Xms", "-Xmn"))]


def test_a_cluster_keeps_its_own(tmp_path: Path) -> None:
    found = options(tmp_path, master="spark://host:7077")
    assert not [option for option in found if option.startswith("-XX")]


def test_a_shared_metastore_finds_its_driver(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    driver, other = tmp_path / "driver.jar", tmp_path / "other.jar"
    for jar, entry in ((driver, "META-INF/services/java.sql.Driver"), (other, "A.class")):
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr(entry, "")
    url = "spark.hadoop.javax.jdo.option.ConnectionURL"
    shared = Settings(home=tmp_path, conf={url: "jdbc:postgresql://db/metastore"})
    conf = conf_of(shared, [driver, other])
    assert conf["spark.driver.extraClassPath"] == str(driver)
    assert conf[url] == "jdbc:postgresql://db/metastore"
    own = conf_of(Settings(home=tmp_path), [driver, other])
    assert "spark.driver.extraClassPath" not in own
    assert own[url].startswith("jdbc:derby:")


def test_the_jvm_has_the_session_s_zone(tmp_path: Path) -> None:
    assert "-Duser.timezone=UTC" in options(tmp_path)
    assert "-Duser.timezone=Asia/Tokyo" in options(tmp_path, conf={ZONE: "Asia/Tokyo"})
    assert "-Duser.timezone=GMT+05:30" in options(tmp_path, conf={ZONE: "+05:30"})


@pytest.mark.parametrize(
    ("given", "derives"),
    [({}, None), ({ZONE: "Etc/UTC"}, None), ({ZONE: "Asia/Tokyo"}, "false")],
)
def test_filters_on_buckets_of_utc(
    tmp_path: Path, given: dict[str, str], derives: str | None
) -> None:
    (tmp_path / "logs").mkdir()
    made = conf_of(Settings(tmp_path, conf=given), [])
    name = "spark.databricks.delta.generatedColumn.partitionFilterOptimization.enabled"
    assert made.get(name) == derives
