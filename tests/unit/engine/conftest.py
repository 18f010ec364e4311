"""Fixtures of the engine's tests: a repository on disk and Javas of any version."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.engine.maven import DELTA, Repository, pin

from alluvium.engine import ivy, jars, own_jar, versions

REPO = Path(__file__).parents[3]

# Ivy runs for a second: compiling it well costs more than it saves.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"


def publish_delta(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(folder / "repository")
    settings = folder / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="disk"/><resolvers>'
        f'<ibiblio name="disk" m2compatible="true" root="{made.root.as_uri()}"/>'
        "</resolvers></ivysettings>"
    )
    monkeypatch.setenv(ivy.IVY_SETTINGS_ENV, str(settings))
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)
    pins = {("io.delta", one, "4.4.0"): made.publish("io.delta", one, "4.4.0") for one in DELTA}
    pin(folder, "delta-4.4.0", pins)
    monkeypatch.setattr(jars, "PINS", folder)
    return made


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository that holds Delta, reached through our settings variable; pins fit its jars."""
    return publish_delta(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has the jars of `repository`; copy it."""
    folder = tmp_path_factory.mktemp("downloaded")
    with pytest.MonkeyPatch.context() as monkeypatch:
        publish_delta(folder, monkeypatch)
        jars.resolve(folder / "home")
    return folder / "home"


@pytest.fixture
def fake_java(tmp_path: Path) -> Callable[[str], Path]:
    """Make a JAVA_HOME whose `java -version` prints a given text."""

    def make(text: str, code: int = 0) -> Path:
        home = tmp_path / f"java-{len(list(tmp_path.iterdir()))}"
        (home / "bin").mkdir(parents=True)
        program = home / "bin" / "java"
        program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit {code}\n")
        program.chmod(0o755)
        return home

    return make


@pytest.fixture(scope="session")
def s3_class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a JVM with the jars of Spark, Delta and S3, and our own."""
    home = tmp_path_factory.mktemp("home")
    kept = Path(os.environ.get("ALLUVIUM_TEST_JARS", REPO / ".alluvium/jars"))
    (home / "jars").symlink_to(kept)
    try:
        needed = jars.resolve(home, s3a=True, offline=True)
    except ivy.JarError:
        pytest.skip("the jars of S3 are not here; make moto does that")
    shipped = versions.spark_home() / "jars" / "*"
    return os.pathsep.join(map(str, [own_jar.jar(home, needed), shipped, *needed]))
