"""The log store of S3, without Spark: two JVMs, and a server that spoils answers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import s3

from alluvium.engine import java, log_store

REPO = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("S3Racer.java")
QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
# S3A's own tries, which come first: few, and after short waits.
TRIES = {
    "fs.s3a.attempts.maximum": "2",
    "fs.s3a.retry.limit": "3",
    "fs.s3a.retry.interval": "20ms",
    "fs.s3a.retry.throttle.interval": "20ms",
    "fs.s3a.multipart.size": "5M",
    "fs.s3a.bucket.off.create.conditional.enabled": "false",
}
KINDS = (
    *("cut-after", "500-after", "503-after"),
    *("cut-before", "500-before", "503-before", "409-before"),
)
DELTAS_OWN = "io.delta.storage.S3SingleDriverLogStore"


class Racer:
    """A JVM with a log store; it does one order after another."""

    def __init__(self, class_path: str, store: str, settings: dict[str, str], log: Path) -> None:
        program = ("org.codehaus.janino.SimpleCompiler", str(PROGRAM), PROGRAM.stem, store)
        words = [word for setting in settings.items() for word in setting]
        with log.open("w") as said:
            self._process = subprocess.Popen(
                [str(java.check().path), *QUICK_JAVA, "-cp", class_path, *program, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        self._log = log
        self._answer()

    def do(self, *order: object) -> list[str]:
        """What it says to an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, order)) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answer(self) -> list[str]:
        assert self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            if line == "done\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise AssertionError(self._log.read_text()[-3000:])


@pytest.fixture(scope="module")
def racers(
    s3_server: s3.S3, s3_class_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Racer]]:
    """Two JVMs with our store, of one home."""
    folder = tmp_path_factory.mktemp("racers")
    settings = {**s3_server.settings, **TRIES, "alluvium.s3.refusing": str(folder / "refusing")}
    started: list[Racer] = []
    try:
        for name in "ab":
            log = folder / f"{name}.log"
            started.append(Racer(s3_class_path, log_store.S3_CLASS, settings, log))
        yield started
    finally:
        for racer in started:
            racer.end()


@pytest.fixture(autouse=True)
def _whole_answers(s3_server: s3.S3) -> None:
    s3_server.heal()
    s3_server.ignore_conditions(False)


def commits(s3_server: s3.S3, folder: str) -> dict[int, str]:
    """What lies in a log, by number."""
    files = s3_server.files()
    listed = files.get_file_info(s3.fs.FileSelector(folder, allow_not_found=True))
    found = {}
    for one in listed:
        if one.base_name.endswith(".json"):
            with files.open_input_stream(one.path) as stream:
                found[int(one.base_name[:-5])] = stream.read().decode()
    return found


def race(s3_server: s3.S3, racers: list[Racer], folder: str, wanted: int) -> tuple[int, int]:
    """Commits that were lost, and how often somebody was told to have lost his own commit."""
    with ThreadPoolExecutor(2) as pool:
        orders = [
            pool.submit(racer.do, "race", f"s3a://{folder}", name, wanted)
            for name, racer in zip("ab", racers, strict=True)
        ]
        told = {name: order.result() for name, order in zip("ab", orders, strict=True)}
    there = commits(s3_server, folder)
    assert sorted(there) == list(range(len(there)))  # no hole
    lost = wrong = 0
    for name, lines in told.items():
        answers = [line.split(" ", 2) for line in lines]
        assert {answer[0] for answer in answers} <= {"made", "lost"}, lines[-3:]
        made = [int(answer[1]) for answer in answers if answer[0] == "made"]
        lost += sum(there[number] != f"{name} {n}\n" for n, number in enumerate(made))
        others = [int(answer[1]) for answer in answers if answer[0] == "lost"]
        wrong += sum(there[number].startswith(name) for number in others)
        assert len(made) == wanted
    # A commit of which its writer knows nothing would be one too many.
    assert len(there) == 2 * wanted - lost
    return lost, wrong


def test_a_race_with_spoilt_answers(s3_server: s3.S3, racers: list[Racer]) -> None:
    racers[0].do("write", "s3a://lake/first/_delta_log", 0, 1, 1)
    s3_server.spoil(*KINDS, every=10, match="_delta_log")
    assert race(s3_server, racers, "lake/quick/_delta_log", 100) == (0, 0)
    spoilt = [
        one["spoilt"] for one in s3_server.requests("lake/quick/_delta_log/") if one["spoilt"]
    ]
    assert set(spoilt) == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [(), *((kind,) for kind in KINDS), KINDS], ids="+".join)
def test_a_long_race(s3_server: s3.S3, racers: list[Racer], kinds: tuple[str, ...]) -> None:
    folder = f"lake/{'+'.join(kinds) or 'whole'}/_delta_log"
    racers[0].do("write", "s3a://lake/first/_delta_log", 0, 1, 1)
    s3_server.spoil(*(kinds or ("none",)), every=5 if kinds else 0, match="_delta_log")
    assert race(s3_server, racers, folder, 2000 if len(kinds) != 1 else 200) == (0, 0)


@pytest.mark.slow
def test_deltas_own_store_loses_the_race(
    s3_server: s3.S3, s3_class_path: str, tmp_path: Path
) -> None:
    """Else the race would show nothing."""
    settings = {**s3_server.settings, **TRIES}
    theirs = [Racer(s3_class_path, DELTAS_OWN, settings, tmp_path / name) for name in "ab"]
    try:
        lost, _ = race(s3_server, theirs, "lake/deltas/_delta_log", 100)
    finally:
        for racer in theirs:
            racer.end()
    assert lost > 0


def test_commits_of_several_parts(s3_server: s3.S3, racers: list[Racer]) -> None:
    folder, whole = "s3a://lake/parts/_delta_log", "x" * 2_000_000 + "\n"
    s3_server.spoil("cut-after", every=5, match="lake/parts")  # of start, three parts, completion
    assert racers[0].do("write", folder, 0, 6, 2_000_000) == ["made"]
    assert [one["spoilt"] for one in s3_server.requests("lake/parts")].count("cut-after") > 0
    s3_server.heal()
    assert racers[1].do("write", folder, 0, 6, 3_000_000) == ["lost"]
    assert commits(s3_server, "lake/parts/_delta_log") == {0: whole * 6}


def test_half_a_commit_is_none(s3_server: s3.S3, racers: list[Racer]) -> None:
    [said] = racers[0].do("half", "s3a://lake/half/_delta_log", 0)
    assert "ClassCastException" in said
    assert commits(s3_server, "lake/half/_delta_log") == {}
    assert racers[1].do("write", "s3a://lake/half/_delta_log", 0, 1, 1) == ["made"]


@pytest.mark.parametrize(("kind", "sent"), [("409-before", 10), ("500-before", None)])
def test_what_is_not_known_is_said(
    s3_server: s3.S3, racers: list[Racer], kind: str, sent: int | None
) -> None:
    s3_server.spoil(kind, every=1, match="lake/unknown")
    [said] = racers[0].do("write", f"s3a://lake/unknown/{kind}", 7, 1, 1)
    assert said.startswith("failed java.io.IOException: It is unknown whether the commit s3a://")
    assert "00000000000000000007.json was made" in said
    assert "Nothing is there now. Run again" in said
    puts = [one for one in s3_server.requests(f"lake/unknown/{kind}") if one["method"] == "PUT"]
    assert len(puts) == (sent or len(puts)) > 0
    assert commits(s3_server, f"lake/unknown/{kind}") == {}


def test_a_log_is_listed_from_a_commit_on(s3_server: s3.S3, racers: list[Racer]) -> None:
    folder = "s3a://lake/long/_delta_log"
    [absent] = racers[0].do("list", folder, 0)
    assert absent.startswith("failed java.io.FileNotFoundException")
    for number in range(12):
        racers[0].do("write", folder, number, 1, number)
    with s3_server.files().open_output_stream("lake/long/_delta_log/_sidecars/a.parquet") as other:
        other.write(b"x")
    wanted = [f"{number:020d}.json {number + 1}" for number in range(12)]
    assert racers[1].do("list", folder, 0) == [*wanted, "_sidecars 0"]
    assert racers[1].do("list", folder, 9) == [*wanted[9:], "_sidecars 0"]
    asked = s3_server.requests("prefix=long/_delta_log/")[-1]
    assert "start-after=long/_delta_log/00000000000000000009.jsom" in asked["query"]


def test_a_commit_that_was_listed_is_one_request(s3_server: s3.S3, racers: list[Racer]) -> None:
    folder = "s3a://lake/listed/_delta_log"
    racers[0].do("write", folder, 0, 2, 9)
    name = "listed/_delta_log/00000000000000000000.json"

    def asked(*order: object) -> tuple[list[str], list[str]]:
        before = len(s3_server.requests(name))
        said = racers[0].do(*order)
        return said, [one["method"] for one in s3_server.requests(name)[before:]]

    assert asked("read", folder, 0) == (["x" * 9] * 2, ["HEAD", "GET"])
    racers[0].do("list", folder, 0)
    assert asked("read", folder, 0) == (["x" * 9] * 2, ["GET"])
    # The table was made again: the commit is another one, and longer.
    with s3_server.files().open_output_stream(f"lake/{name}") as file:
        file.write(b"another\n" * 9)
    said, methods = asked("read", folder, 0)
    assert said[-9:] == ["another"] * 9  # behind what the client logs
    assert methods[-2:] == ["HEAD", "GET"]


def test_a_file_of_a_stream_is_one_request(s3_server: s3.S3, racers: list[Racer]) -> None:
    path = "s3a://lake/checkpoint/offsets/0"

    def text() -> str:
        with s3_server.files().open_input_stream(path.removeprefix("s3a://")) as stream:
            return str(stream.read().decode())

    assert racers[0].do("cancel", path, "half") == ["made"]
    assert s3_server.requests("checkpoint/offsets/0") == []
    # An answer that is lost on its way leaves the writer's own file.
    s3_server.spoil("cut-after", "500-after", every=1, match="checkpoint")
    assert racers[0].do("new", path, "one") == ["made"]
    s3_server.heal()
    assert racers[1].do("new", path, "two") == ["lost"]
    assert text() == "one"
    before = len(s3_server.requests("checkpoint"))
    assert racers[1].do("replace", path, "three") == ["made"]
    assert racers[0].do("new", path[:-1] + "1", "next") == ["made"]
    asked = s3_server.requests("checkpoint")[before:]
    assert [(one["method"], one["conditional"]) for one in asked] == [("PUT", False), ("PUT", True)]
    assert text() == "three"


def test_files_below_a_name_are_one_request(s3_server: s3.S3, racers: list[Racer]) -> None:
    landing = "lake/landing/feed"
    seen = ["1.json", "1.json.more/6", "a=1/_b=2/5.json", "b/2.json"]
    for name in (*seen, "_tmp/3.json", ".4.json"):
        s3_server.files().create_dir(f"{landing}/{name}".rpartition("/")[0])
        with s3_server.files().open_output_stream(f"{landing}/{name}") as file:
            file.write(b"{}")
    before = len(s3_server.requests("landing"))
    found = racers[0].do("below", f"s3a://{landing}")
    assert len(s3_server.requests("landing")) == before + 1
    assert sorted(found) == [f"s3a://{landing}/{name}" for name in seen]
    assert racers[0].do("below", f"s3a://{landing}/1.json") == [f"s3a://{landing}/1.json"]
    assert racers[0].do("below", f"s3a://{landing}/1") == ["absent"]


def test_other_file_systems_keep_sparks_own(racers: list[Racer], tmp_path: Path) -> None:
    for order, said in (("new", "made"), ("new", "lost"), ("replace", "made")):
        assert racers[0].do(order, tmp_path / "0", order) == [said]
    assert (tmp_path / "0").read_text() == "replace"


def test_a_bucket_is_asked_once(s3_server: s3.S3, racers: list[Racer]) -> None:
    folder = "s3a://pond/t/_delta_log"
    s3_server.ignore_conditions(True)
    # The second PUT fails, but not because of the first.
    s3_server.spoil("none", *["500-before"] * 30, every=1, match=".probe-")
    [said] = racers[0].do("write", folder, 0, 1, 1)
    assert "It is unknown whether s3a://pond/t/_delta_log/.probe-" in said
    s3_server.heal()
    for racer in racers:
        [said] = racer.do("write", folder, 0, 1, 1)
        assert f"s3a://pond {s3_server.endpoint}: two writers would lose" in said
        assert "it takes a second PUT with If-None-Match" in said
        assert "S3DynamoDBLogStore" in said
        assert "`single_writer: true`" in said
    assert commits(s3_server, "pond/t/_delta_log") == {}
    s3_server.ignore_conditions(False)
    before = len(s3_server.requests(".probe-"))
    assert racers[0].do("write", folder, 0, 1, 1) == ["made"]
    probes = s3_server.requests(".probe-")[before:]
    assert [one["status"] for one in probes if one["method"] == "PUT"] == [200, 412]
    assert probes[-1]["method"] == "DELETE"
    # The other JVM of this home reads its note.
    assert racers[1].do("write", folder, 1, 1, 1) == ["made"]
    assert len(s3_server.requests(".probe-")) == before + len(probes)
    left = s3_server.files().get_file_info(s3.fs.FileSelector("pond/t/_delta_log"))
    assert [one.base_name for one in left] == [f"{number:020d}.json" for number in range(2)]


def test_a_bucket_without_conditions_is_refused(s3_server: s3.S3, racers: list[Racer]) -> None:
    [said] = racers[0].do("write", "s3a://off/t/_delta_log", 0, 1, 1)
    assert "s3a://off" in said
    assert "fs.s3a.create.conditional.enabled is false" in said
    assert commits(s3_server, "off/t/_delta_log") == {}
