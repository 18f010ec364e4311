"""The JVM's options: ours, unless the profile says otherwise."""

from __future__ import annotations

from pathlib import Path

from alluvium.engine.session import Settings, _conf

OPTIONS = "spark.driver.extraJavaOptions"


def options(home: Path, **settings: object) -> list[str]:
    (home / "logs").mkdir(exist_ok=True)
    conf = _conf(Settings(home=home, **settings), [Path("a.jar")])  # type: ignore[arg-type]
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
