from collections.abc import Callable
from pathlib import Path

import pytest

from alluvium.engine import java

MakeJava = Callable[..., Path]


@pytest.mark.parametrize(
    ("text", "feature", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK ...', 17, "17.0.15"),
        ('openjdk version "21" 2023-09-19', 21, "21"),
        ('openjdk version "21-ea" 2023-09-19', 21, "21-ea"),
        ('java version "1.8.0_402"', 8, "1.8.0_402"),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2"', 11, "11.0.2"),
        ('openjdk version "25.0.3" 2026-04-21 LTS', 25, "25.0.3"),
    ],
)
def test_versions_are_read(text: str, feature: int, version: str) -> None:
    assert java.parse_version(text) == (feature, version)


def test_text_without_a_version_is_refused() -> None:
    with pytest.raises(ValueError, match="no version"):
        java.parse_version("Unable to locate a Java Runtime.")


@pytest.mark.parametrize("version", ["17.0.15", "21.0.2"])
def test_accepted(fake_java: MakeJava, version: str) -> None:
    home = fake_java(f'openjdk version "{version}"')
    found = java.check({"JAVA_HOME": str(home), "PATH": "/usr/bin:/bin"})
    assert found == java.Java(home / "bin" / "java", int(version[:2]), version)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "20.0.1", "25"])
def test_other_versions_are_refused_in_one_sentence(fake_java: MakeJava, version: str) -> None:
    home = fake_java(f'openjdk version "{version}"')
    with pytest.raises(java.JavaError) as refused:
        java.check({"JAVA_HOME": str(home), "PATH": "/usr/bin:/bin"})
    message = str(refused.value)
    assert str(home) in message
    assert version in message
    assert "install Java 17 or 21" in message
    assert "\n" not in message


def test_java_home_comes_before_path(fake_java: MakeJava) -> None:
    old, new = fake_java('openjdk version "11.0.2"'), fake_java('openjdk version "17.0.1"')
    path = f"{new / 'bin'}:/usr/bin:/bin"
    with pytest.raises(java.JavaError, match=r"11\.0\.2"):
        java.check({"JAVA_HOME": str(old), "PATH": path})
    assert java.check({"PATH": path}).feature == 17


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(java.JavaError, match=r"was not found.*install Java 17 or 21"):
        java.check({"PATH": str(tmp_path)})


def test_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(java.JavaError, match="has no bin/java: install Java 17 or 21"):
        java.check({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


def test_a_java_that_does_not_run(fake_java: MakeJava) -> None:
    home = fake_java("Error occurred during initialization of VM", 1)
    with pytest.raises(java.JavaError, match="does not run"):
        java.check({"JAVA_HOME": str(home), "PATH": "/usr/bin:/bin"})
