import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.engine.maven import DELTA, Repository, pin

from alluvium.engine import ivy, jars, java, versions

DELTA_FILES = [f"io.delta_{artifact}-4.4.0.jar" for artifact in DELTA]


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_downloads_once_then_needs_neither_network_nor_java(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    first = jars.resolve(home, progress=repository.say)
    assert names(first) == DELTA_FILES
    assert all(path.is_absolute() and path.is_file() for path in first)
    assert "downloading the jars of Delta 4.4.0" in repository.lines[0]
    assert not list((home / "jars").glob(".resolving-*"))

    repository.lines.clear()
    shutil.rmtree(repository.root)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    started = time.process_time()  # whatever else the machine does
    assert jars.resolve(home, progress=repository.say, offline=True) == first
    assert time.process_time() - started < 0.05
    assert repository.lines == []


def test_relative_home(
    repository: Repository, downloaded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(downloaded.parent)
    assert jars.resolve(Path("home"), offline=True)[0].is_relative_to(downloaded)


def test_half_filled_local_repositories_play_no_part(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "user"
    for artifact in DELTA:
        module = user / ".m2" / "repository" / "io" / "delta" / artifact / "4.4.0"
        module.mkdir(parents=True)
        (module / f"{artifact}-4.4.0.pom").write_text("<project>half a file")
        cached = user / ".ivy2" / "cache" / "io.delta" / artifact
        cached.mkdir(parents=True)
        (cached / "ivy-4.4.0.xml").write_text("<ivy-module>half a file")
        (cached / "ivydata-4.4.0.properties").write_text("resolver=nowhere")
    before = sorted(user.rglob("*"))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.home={user}")
    home = tmp_path / "home"
    monkeypatch.setattr(sys, "argv", ["jars", str(home)])
    assert jars.main() == 0
    assert names(jars.resolve(home, offline=True)) == DELTA_FILES
    assert sorted(user.rglob("*")) == before


def damage(jar: Path) -> None:
    content = bytearray(jar.read_bytes())
    content[len(content) // 2] ^= 0xFF
    jar.write_bytes(content)


HARMS: dict[str, Callable[[Path], object]] = {
    "bit": damage,
    "cut": lambda jar: jar.write_bytes(jar.read_bytes()[:-1]),
    "empty": lambda jar: jar.write_bytes(b""),
    "gone": Path.unlink,
    "manifest-cut": lambda jar: (jar.parent / "manifest.json").write_text('{"wan'),
    "manifest-odd": lambda jar: (jar.parent / "manifest.json").write_text("[]"),
    "no-manifest": lambda jar: (jar.parent / "manifest.json").unlink(),
    "no-folder": lambda jar: shutil.rmtree(jar.parent),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_damage_is_noticed(
    repository: Repository, downloaded: Path, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    home = shutil.copytree(downloaded, tmp_path / "home")
    harm(jars.resolve(home, offline=True)[0])
    with pytest.raises(ivy.JarError) as refused:
        jars.resolve(home, offline=True)
    assert str(home / "jars" / "delta-4.4.0") in str(refused.value)


@pytest.mark.parametrize("name", ["bit", pytest.param("no-manifest", marks=pytest.mark.slow)])
def test_damage_is_repaired(
    repository: Repository, downloaded: Path, tmp_path: Path, name: str
) -> None:
    home = shutil.copytree(downloaded, tmp_path / "home")
    (jar, *_) = before = jars.resolve(home, offline=True)
    good = jar.read_bytes()
    HARMS[name](jar)
    assert jars.resolve(home, progress=repository.say) == before
    assert jar.read_bytes() == good
    assert jars.resolve(home, offline=True) == before


def test_a_copied_home_is_used_as_it_is(
    repository: Repository, downloaded: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(downloaded, tmp_path / "copy", copy_function=shutil.copyfile)
    found = jars.resolve(copy, offline=True)
    assert names(found) == DELTA_FILES
    assert found[0].is_relative_to(copy)


def test_a_jar_that_is_not_the_pinned_one_is_refused(
    repository: Repository, tmp_path: Path
) -> None:
    (published,) = repository.root.rglob("delta-storage-4.4.0.jar")
    damage(published)
    with pytest.raises(ivy.JarError, match=r"delta-storage-4\.4\.0\.jar has SHA-256"):
        jars.resolve(tmp_path / "home", progress=repository.say)
    assert not (tmp_path / "home" / "jars" / "delta-4.4.0").exists()


def test_unavailable_names_what_where_and_what_to_do(
    repository: Repository, tmp_path: Path
) -> None:
    shutil.rmtree(repository.root / "io")
    home = tmp_path / "home"
    with pytest.raises(ivy.JarError) as refused:
        jars.resolve(home, progress=repository.say)
    message = str(refused.value)
    assert "io.delta:delta-storage:4.4.0: not found" in message
    assert str(home / "jars") in message
    assert ivy.IVY_SETTINGS_ENV in message
    assert "module not found" in (home / "jars" / "ivy.log").read_text()


def test_no_network(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Our own settings, with every connection sent to a port that nobody listens on.
    monkeypatch.delenv(ivy.IVY_SETTINGS_ENV)
    proxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", proxy)
    with pytest.raises(ivy.JarError) as refused:
        jars.resolve(tmp_path / "home", progress=repository.say)
    assert "Connection refused" in str(refused.value)
    assert "connect to the network once" in str(refused.value)


def test_settings_file_that_is_not_there(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ivy.IVY_SETTINGS_ENV, str(tmp_path / "absent.xml"))
    with pytest.raises(ivy.JarError, match=r"absent\.xml; accepted: the path of a file"):
        jars.resolve(tmp_path / "home", progress=repository.say)


def test_no_java(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(java.JavaError, match="install Java 17 or 21"):
        jars.resolve(tmp_path / "home", progress=repository.say)


def test_home_that_cannot_be_written(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(ivy.JarError, match="cannot be kept in"):
        jars.resolve(tmp_path / "home", progress=repository.say)


def test_packages_come_with_what_they_need_less_what_spark_ships(
    repository: Repository, tmp_path: Path
) -> None:
    (snappy,) = (versions.spark_home() / "jars").glob("snappy-java-*.jar")
    repository.publish("org.example", "codec", "2.1")
    repository.publish("org.example", "json", "1.0")  # pyspark's json is of another group
    repository.publish(
        "org.example",
        "source_2.13",
        "1.0",
        needs=(
            "org.example:codec:2.1",
            "org.example:json:1.0",
            "org.xerial.snappy:snappy-java:1.1.1",  # shipped, and not in this repository
            "io.delta:delta-storage:4.3.0",
        ),
    )
    home = tmp_path / "home"
    wanted = ["org.example:source_2.13:1.0", f"org.xerial.snappy:{snappy.stem.replace('a-', 'a:')}"]
    found = jars.resolve(home, packages=wanted, progress=repository.say)
    assert names(found) == [
        *DELTA_FILES,
        "org.example_codec-2.1.jar",
        "org.example_json-1.0.jar",
        "org.example_source_2.13-1.0.jar",
    ]
    # Their order makes no other set, and Delta alone is still there.
    assert jars.resolve(home, packages=wanted[::-1], offline=True) == found
    assert jars.resolve(home, offline=True) == found[: len(DELTA_FILES)]
    with pytest.raises(ivy.JarError, match=r"offline.*\n.*org\.example:codec:2\.1"):
        jars.resolve(home, packages=["org.example:codec:2.1"], offline=True)


def test_s3_comes_where_it_is_asked_for(repository: Repository, tmp_path: Path) -> None:
    aws, sdk = "org.apache.hadoop:hadoop-aws:3.5.0", "software.amazon.awssdk:s3:2.35.4"
    bundle = "software.amazon.awssdk:bundle:2.35.4"  # not in this repository
    pins = {
        tuple(module.split(":")): repository.publish(*module.split(":"), needs=needs)
        for module, needs in ((aws, (bundle,)), (sdk, ()))
    }
    pin(jars.PINS, "s3a-3.5.0", pins)
    home, asked = tmp_path / "home", {"packages": [aws], "progress": repository.say}
    found = jars.resolve(home, s3a=True, **asked)  # type: ignore[arg-type]
    s3 = ["org.apache.hadoop_hadoop-aws-3.5.0.jar", "software.amazon.awssdk_s3-2.35.4.jar"]
    assert names(found) == [*DELTA_FILES, *s3]
    assert names(jars.resolve(home, offline=True)) == DELTA_FILES


def test_the_jars_of_s3_are_modules_of_one_sdk() -> None:
    pins = jars.pinned(f"s3a-{versions.SUPPORTED[0].hadoop}")
    assert ("org.apache.hadoop", "hadoop-aws", versions.SUPPORTED[0].hadoop) in pins
    sdk = {version for group, _, version in pins if group == "software.amazon.awssdk"}
    assert len(sdk) == 1
    names = {artifact for _, artifact, _ in pins}
    assert {"s3", "sts", "s3-transfer-manager"} <= names
    assert not names & {"bundle", "netty-all", "httpclient"}
    assert all(len(digest) == 64 for digest in pins.values())


def test_packages_that_are_there_anyway_download_nothing(
    repository: Repository, downloaded: Path
) -> None:
    found = jars.resolve(downloaded, packages=["io.delta:delta-storage:4.4.0"], offline=True)
    assert names(found) == DELTA_FILES


def test_a_package_cannot_replace_what_spark_ships(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(versions.VersionError, match="cannot replace the snappy-java"):
        jars.resolve(
            tmp_path / "home",
            packages=["org.xerial.snappy:snappy-java:1.0.0"],
            progress=repository.say,
        )


def test_processes_at_once_download_once(repository: Repository, tmp_path: Path) -> None:
    home = tmp_path / "home"
    leftover = home / "jars" / ".resolving-killed"
    leftover.mkdir(parents=True)
    (leftover / "half.jar").write_text("half")
    program = (
        "from pathlib import Path; from alluvium.engine import jars; "
        f"jars.PINS = Path({str(jars.PINS)!r}); "
        f"print(*jars.resolve(Path({str(home)!r})), sep=chr(10))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        for _ in range(2)
    ]
    results = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], results
    assert {out for out, _ in results} == {
        "".join(f"{home / 'jars' / 'delta-4.4.0' / name}\n" for name in DELTA_FILES)
    }
    assert sum("downloading the jars" in err for _, err in results) == 1
    assert not leftover.exists()


def test_a_command_that_names_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["jars", str(tmp_path / "home"), "nonsense"])
    assert jars.main() == 1
    assert "'nonsense'; accepted: group:artifact:version" in capsys.readouterr().err


@pytest.mark.network
def test_the_real_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ivy.IVY_SETTINGS_ENV, raising=False)
    lines: list[str] = []
    found = jars.resolve(tmp_path, progress=lines.append)
    assert len(found) == len(jars.pinned(f"delta-{versions.check().delta}"))
    assert sum(path.stat().st_size for path in found) < 20e6
    assert jars.resolve(tmp_path, offline=True) == found
    s3 = jars.resolve(tmp_path, s3a=True, progress=lines.append)[len(found) :]
    assert len(s3) == len(jars.pinned(f"s3a-{versions.check().hadoop}"))
    assert sum(path.stat().st_size for path in s3) < 15e6
