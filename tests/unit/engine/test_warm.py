"""Who may attach to a JVM that an earlier command left, and what is told where nobody may."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from alluvium.command.main import main
from alluvium.engine import EngineError, warm
from alluvium.engine.attaching import Here, JvmState, Verdict, Way, decide, of_environment, salted

PARTS = {
    "working directory": "/srv/shop",
    "`spark.driver.memory`": "2g",
    "jars": "/srv/jars/a.jar 1",
}
SALT = "5f"
STATE = JvmState(
    host="here",
    user=1000,
    pid=99,
    since=1764_000_000.5,
    gateway=2000,
    port=3000,
    secret="not to be told",
    home="/srv/shop/.alluvium",
    inode="1:2",
    salt=SALT,
    made_of=salted(PARTS, SALT),
)
HERE = Here("here", 1000, "/srv/shop/.alluvium", "1:2")


def decided(
    state: JvmState | None = STATE,
    here: Here = HERE,
    parts: dict[str, str] | None = PARTS,
    is_held: bool = True,
    word: str | None = None,
) -> Verdict:
    return decide(state, here, parts, is_held=is_held, word=word)


def test_the_same_command_attaches() -> None:
    assert decided() == Verdict(Way.ATTACH)
    assert JvmState.read(STATE.text()) == STATE


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (PARTS | {"jars": "a.jar 12 35"}, "it was started with other jars"),
        ({**PARTS, "`AWS_PROFILE`": "x"}, "it was started with other `AWS_PROFILE`"),
        ({"jars": PARTS["jars"]}, "it was started with other `spark.driver.memory`, working"),
        (dict.fromkeys("abcd", ""), "other `spark.driver.memory`, a, b and 4 more"),
        (None, "this command has no `keep_warm` in its profile"),
    ],
)
def test_another_one_ends_it_and_says_why(parts: dict[str, str] | None, told: str) -> None:
    found = decided(parts=parts)
    assert found.way is Way.END
    assert told in str(found.why)


def test_a_copied_home_leaves_the_originals_alone() -> None:
    copied = replace(HERE, home="/copy/.alluvium", inode="1:3")
    # The copy's lock is another file, which nobody holds.
    assert decided(here=copied, is_held=False) == Verdict(Way.START)
    # A folder that is put back over the old one is another one too.
    assert decided(here=replace(HERE, inode="1:3"), is_held=False) == Verdict(Way.START)
    # One that was moved takes its lock, and its engine, along.
    moved = decided(here=replace(HERE, home="/moved"))
    assert (moved.way, moved.why) == (Way.END, "it was started for /srv/shop/.alluvium")


@pytest.mark.parametrize("here", [replace(HERE, user=1), replace(HERE, host="there")])
def test_somebody_elses_is_told(here: Here) -> None:
    assert decided(here=here) == Verdict(Way.REFUSE, "process 99 of user 1000 on here")


def test_one_that_is_gone_or_going() -> None:
    assert decided(is_held=False) == Verdict(Way.START, "it crashed or was killed")
    assert decided(is_held=False, word="its heap was full") == Verdict(
        Way.START, "its heap was full"
    )
    assert decided(None, is_held=False) == Verdict(Way.START)
    # It has taken its file away, and its lock is not free yet.
    assert decided(None, word="w") == Verdict(Way.WAIT, "w")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "no JSON", STATE.text()[:-2]),
        json.dumps(json.loads(STATE.text()) | {"port": "3000"}),
        json.dumps(json.loads(STATE.text()) | {"more": 1}),
    ],
)
def test_a_file_that_says_nothing(text: str) -> None:
    assert JvmState.read(text) is None


def test_hashes_tell_nothing_and_differ_by_their_salt() -> None:
    text = STATE.text()
    assert "/srv/jars" not in text
    assert "a.jar" not in text
    assert salted(PARTS, "a") != salted(PARTS, "b")
    # One part's value is no other's.
    assert len(set(salted({"a": "x", "b": "x"}, SALT).values())) == 2


def test_the_environment_that_counts() -> None:
    given = {"AWS_PROFILE": "a", "JAVA_HOME": "b", "AIRFLOW_CTX_RUN": "c", "SPARK_BUFFER_SIZE": "d"}
    assert set(of_environment(given)) == {"AWS_PROFILE", "JAVA_HOME"}


def written(path: Path, text: str) -> None:
    """A program of that text, whose time says nothing."""
    path.write_text(text)
    path.chmod(0o755)
    os.utime(path, (1, 1))


Change = Callable[[pytest.MonkeyPatch, Path], object]
CHANGES: list[tuple[str, Change]] = [
    ("umask", lambda patch, root: os.umask(0o027)),
    ("working directory", lambda patch, root: patch.chdir(root / "other")),
    ("version of Alluvium", lambda patch, root: patch.setattr(metadata, "version", lambda _: "9")),
    ("Python", lambda patch, root: patch.setattr(sys, "executable", "/other/python")),
    ("Python", lambda patch, root: patch.setattr(sys, "version", "3.99")),
    ("Java", lambda patch, root: written(root / "java", "of another length")),
    ("jars", lambda patch, root: written(root / "b.jar", "of another length")),
    ("jars", lambda patch, root: os.utime(root / "b.jar", (2, 2))),
    ("`AWS_PROFILE`", lambda patch, root: patch.setenv("AWS_PROFILE", "other")),
    ("`spark.driver.memory`", lambda patch, root: None),
]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_what_decides_what_a_jvm_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Change
) -> None:
    """Each change is seen, under its own name and no other."""
    (tmp_path / "other").mkdir()
    for file in ("a.jar", "b.jar", "java"):
        written(tmp_path / file, file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("AWS_PROFILE", "one")
    memory = "`spark.driver.memory`"
    # By their whole places: a jar lies where it lay.
    jars = ",".join(str(tmp_path / file) for file in ("a.jar", "b.jar"))
    old = os.umask(0o022)
    try:
        before = warm.parts(tmp_path, {"spark.jars": jars, "spark.driver.memory": "2g"})
        change(monkeypatch, tmp_path)
        more = "3g" if name == memory else "2g"
        after = warm.parts(tmp_path, {"spark.jars": jars, "spark.driver.memory": more})
    finally:
        os.umask(old)
    assert {key for key in before | after if before.get(key) != after.get(key)} == {name}
    assert not list(tmp_path.glob("engine.*"))


def test_the_file_is_its_users_alone(tmp_path: Path) -> None:
    (tmp_path / "engine.json.new").write_text("of one that was killed")
    old = os.umask(0)
    try:
        warm.write(tmp_path, STATE)
    finally:
        os.umask(old)
    path = tmp_path / "engine.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert warm.read(tmp_path) == STATE
    assert [one.name for one in tmp_path.iterdir()] == ["engine.json"]


def test_whoever_has_the_lock_open_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "_TO_LOOK", 0.1)
    assert not warm.is_held(tmp_path)
    with warm.opened(tmp_path) as lock:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=-1, pass_fds=[lock.fileno()]
        )
    try:
        assert warm.is_held(tmp_path)
        with pytest.raises(EngineError, match="has an engine that runs"):
            warm.opened(tmp_path)
    finally:
        child.kill()
        child.communicate()
    assert not warm.is_held(tmp_path)


def test_a_jvm_that_waits_leaves_its_lock_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "_TO_LOOK", 0.1)
    ours = warm.opened(tmp_path)
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[ours.fileno()]) as jvm:
        warm.free(ours)
        assert not warm.is_held(tmp_path)
        with warm.opened(tmp_path), pytest.raises(EngineError, match="has an engine that runs"):
            warm.hold(tmp_path, ours)
        warm.hold(tmp_path, ours)
        # Both have it open, so it is held until both are gone.
        ours.close()
        assert warm.is_held(tmp_path)
        assert jvm.stdin is not None
        jvm.stdin.close()
    assert not warm.is_held(tmp_path)


def test_a_look_at_the_lock_stops_no_command(tmp_path: Path) -> None:
    (tmp_path / "engine.lock").touch()
    with (tmp_path / "engine.lock").open("r+") as looks:
        fcntl.flock(looks, fcntl.LOCK_EX)
        threading.Timer(0.2, fcntl.flock, (looks, fcntl.LOCK_UN)).start()
        warm.opened(tmp_path).close()


@pytest.mark.parametrize("by", ["a command", "engine stop"])
def test_one_of_another_release_is_asked_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    """Of its file only the port and the secret are known."""
    asked = []
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        (tmp_path / "engine.lock").open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        noted = {"port": server.getsockname()[1], "secret": "5f", "of": "later"}
        (tmp_path / "engine.json").write_text(json.dumps(noted))
        place = ["--project-dir", str(tmp_path), "--home", str(tmp_path)]
        assert main(["engine", "status", *place]) == 2
        assert "a warm engine of another release" in capsys.readouterr().out

        def end() -> None:
            client, _ = server.accept()
            asked.append(client.recv(99))
            client.sendall(b"yes\n")
            client.close()
            fcntl.flock(lock, fcntl.LOCK_UN)

        jvm = threading.Thread(target=end)
        jvm.start()
        if by == "a command":
            told = str(warm.meet(tmp_path, PARTS, 60))
            assert "is gone, as it is of another release of Alluvium" in told
            assert not (tmp_path / "engine.json").exists()
        else:
            assert main(["engine", "stop", *place]) == 0
        jvm.join()
    assert asked == [b"5f stop\n"]


def test_one_that_does_not_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_TO_END", 0.1)
    with (tmp_path / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(EngineError, match=r"does not end\. Its process is 99 on here"):
            warm.wait_until_gone(tmp_path, STATE)


def test_a_crash_is_told_once(tmp_path: Path) -> None:
    home = str(tmp_path)
    here = warm.here(tmp_path)
    crashed = replace(STATE, home=home, inode=here.inode, host=here.host, user=here.user)
    warm.write(tmp_path, crashed)
    told = warm.meet(tmp_path, PARTS, 60)
    assert told == (
        f"The warm engine of {home} is gone, as it crashed or was killed: this command starts Spark"
    )
    warm.write(tmp_path, crashed)
    (tmp_path / "engine.oom").touch()
    assert "is gone, as it had run out of memory:" in str(warm.meet(tmp_path, PARTS, 60))
    assert list(tmp_path.iterdir()) == []
    assert warm.meet(tmp_path, PARTS, 60) == ""


def test_the_command_without_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--project-dir", str(tmp_path), "--home", str(tmp_path)]
    assert main(["engine", "status", *place]) == 1
    assert capsys.readouterr().out == f"{tmp_path} has no warm engine\n"
    assert main(["engine", "stop", *place]) == 0
    # A file that a crash left says where nothing listens.
    warm.write(tmp_path, STATE)
    assert main(["engine", "status", *place]) == 1
    with (tmp_path / "engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        warm.write(tmp_path, replace(STATE, port=9))
        assert main(["engine", "status", *place]) == 2
        assert "does not answer: process 99 on here" in capsys.readouterr().out
        assert main(["engine", "stop", *place]) == 2
