import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from alluvium.engine import jars, versions

INSTALLED = versions.SUPPORTED[0]


def test_what_is_installed_here_goes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    found = versions.check()
    assert found.pyspark == metadata.version("pyspark")
    assert found.delta == metadata.version("delta-spark")


def test_every_delta_of_the_table_has_pinned_jars() -> None:
    for supported in versions.SUPPORTED:
        spark = ".".join(supported.pyspark.split(".")[:2])
        artifact = f"delta-spark_{spark}_{supported.scala}"
        assert ("io.delta", artifact, supported.delta) in jars.pinned(f"delta-{supported.delta}")


def test_hadoop_is_that_of_pyspark() -> None:
    client = f"hadoop-client-api-{INSTALLED.hadoop}.jar"
    assert (versions.spark_home() / "jars" / client).exists()


@pytest.mark.parametrize(("name", "version"), [("pyspark", "4.1.0"), ("delta-spark", "4.4.1")])
def test_another_version_is_refused_with_the_table(
    monkeypatch: pytest.MonkeyPatch, name: str, version: str
) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda n: version if n == name else real(n))
    with pytest.raises(versions.VersionError) as refused:
        versions.check()
    assert f"{name} {version}" in str(refused.value)
    assert versions.table() in str(refused.value)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(versions.VersionError, match="pyspark is not installed"):
        versions.check()


def test_spark_home_of_another_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(versions.VersionError) as refused:
        versions.check()
    assert "spark-core_2.12-3.5.1.jar" in str(refused.value)
    assert "unset SPARK_HOME" in str(refused.value)


@pytest.mark.parametrize(
    ("coordinate", "complaint"),
    [
        ("postgresql", "accepted: group:artifact:version"),
        ("a:b:1.0:c", "accepted: group:artifact:version"),
        ("a.b:c:[1.0,2.0)", "accepted: group:artifact:version"),
        ("a.b:c:1.+", "accepted: group:artifact:version"),
        ('a.b:c:1"/><x', "accepted: group:artifact:version"),
        ("a.b:c:latest.release", "fixed version"),
        ("a.b:c_2.12:1.0", "Scala 2.12"),
        ("a.b:c_3:1.0", "Scala 3"),
        (
            "org.apache.spark:spark-avro_2.13:4.1.0",
            "accepted: org.apache.spark:spark-avro_2.13:4.2.0",
        ),
        ("org.apache.hadoop:hadoop-aws:3.4.2", "accepted: org.apache.hadoop:hadoop-aws:3.5.0"),
        ("io.delta:delta-hudi_2.13:4.3.0", "accepted: io.delta:delta-hudi_2.13:4.4.0"),
    ],
)
def test_packages_that_do_not_fit(coordinate: str, complaint: str) -> None:
    with pytest.raises(versions.VersionError) as refused:
        versions.check_package(coordinate, INSTALLED)
    assert complaint in str(refused.value)
    assert coordinate in str(refused.value)


def test_packages_that_fit() -> None:
    for coordinate in (
        "org.postgresql:postgresql:42.7.7",
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.5",
    ):
        assert versions.check_package(coordinate, INSTALLED) == tuple(coordinate.split(":"))


def test_checks_import_no_spark() -> None:
    program = (
        "import sys; from alluvium.engine import jars, versions; versions.check(); "
        "sys.exit('pyspark.sql' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
