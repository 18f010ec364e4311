"""The jars that Spark needs beside its own: Delta's, S3's, and packages that a profile names.

They are downloaded once, by the Ivy that pyspark ships. It has settings and a cache of our own.
What ``~/.ivy2`` and ``~/.m2`` hold (half a module, often) plays no part. Each set of jars is a
folder under ``<home>/jars`` that appears in one rename, with a manifest. After that a start reads
the manifest, looks at sizes and times, and needs neither Java nor network.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict, cast

from alluvium.engine import EngineError, ivy, versions
from alluvium.engine.ivy import (
    JarError,
    JarSet,
    Progress,
    maven_group,
    spark_jars,
    unavailable,
)

# Files with the SHA-256 of jars: those of Delta and of S3A, by version.
PINS = Path(__file__).parent

_MANIFEST = "manifest.json"
_TEMPORARY = ".resolving-"


class _File(TypedDict):
    """A jar in the manifest."""

    name: str
    size: int
    mtime_ns: int
    sha256: str


class _Manifest(TypedDict):
    """What a folder holds, and what was asked for."""

    wanted: list[str]
    files: list[_File]


def resolve(
    home: Path,
    *,
    packages: Sequence[str] = (),
    s3a: bool = False,
    offline: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Give the jars to start Spark with, downloading what ``home`` does not have yet.

    Safe to call from several processes at once: one downloads, the others wait for it.

    Args:
        home: the engine's folder; jars are kept in ``home/jars``.
        packages: Maven coordinates ``group:artifact:version`` to have as well, with all that they
            depend on, less what pyspark ships.
        s3a: whether files on S3 are read or written.
        offline: fail at once instead of downloading.
        progress: takes a line of text whenever a download starts, advances or ends; standard error
            by default.

    Returns:
        Absolute paths, Delta's jars first, then those of S3.

    Raises:
        VersionError: pyspark, delta-spark or a package do not go together.
        JavaError: a download is needed and there is no Java to run Ivy.
        JarError: the jars cannot be downloaded, or are not what they should be.
    """
    installed = versions.check()
    say = progress or _to_stderr
    store = home.absolute() / "jars"
    paths: list[Path] = []
    for wanted in _sets(installed, packages, s3a):
        folder = store / wanted.folder
        problem = _problem(folder, wanted)
        if problem:
            if offline:
                raise JarError(unavailable(wanted, store, f"offline, and {problem}"))
            with _locked(store, say):
                # Another process may have resolved them while this one waited.
                if _problem(folder, wanted):
                    _download(store, wanted, say)
        paths += [folder / file["name"] for file in _manifest(folder)["files"]]
    return paths


def _sets(installed: versions.VersionSet, packages: Sequence[str], s3a: bool) -> list[JarSet]:
    """What to have: Delta's jars, S3's, and the packages that are not there anyway."""
    delta, hadoop = installed.delta, installed.hadoop
    sets = [_pinned(f"delta-{delta}", f"Delta {delta}")]
    if s3a:
        sets.append(_pinned(f"s3a-{hadoop}", f"S3A {hadoop}"))
    pinned = [module for one in sets for module in one.modules]
    modules = {versions.check_package(package, installed) for package in packages} - set(pinned)
    modules = _not_shipped(modules, installed)
    if modules:
        ordered, ours = tuple(sorted(modules)), tuple((group, name) for group, name, _ in pinned)
        key = hashlib.sha256(repr((ordered, installed, ours)).encode()).hexdigest()[:12]
        title = f"{len(ordered)} package{'s' if len(ordered) > 1 else ''}"
        sets.append(JarSet(f"packages-{key}", title, ordered, True, {}, ours))
    return sets


def _pinned(folder: str, title: str) -> JarSet:
    """A set of modules whose jars have known digests."""
    pins = pinned(folder)
    sha256 = {_file_name(*module): digest for module, digest in pins.items()}
    return JarSet(folder, title, tuple(pins), False, sha256)


def pinned(name: str) -> dict[tuple[str, str, str], str]:
    """SHA-256 of the jars of a set that is pinned, by group, artifact and version.

    Of Delta: the kernel is its reader for `v2.enableMode`. Its further dependencies are not needed.
    Pyspark ships a later RoaringBitmap, parquet and jackson. The Unity Catalog client is for Unity
    Catalog only (name it in `packages`).

    S3A itself asks for a bundle of the whole AWS SDK, of 676 MB. Here are the modules that it uses,
    with all that they need and pyspark does not ship.
    """
    pins = {}
    for line in (PINS / f"{name}.sha256").read_text().splitlines():
        digest, jar = line.split()
        group, _, module = jar.removesuffix(".jar").partition("_")
        artifact, version = re.split(r"-(?=\d)", module, maxsplit=1)
        pins[group, artifact, version] = digest
    return pins


def _not_shipped(
    modules: set[tuple[str, str, str]], installed: versions.VersionSet
) -> set[tuple[str, str, str]]:
    """Leave out what pyspark ships; its class loader comes first, so nothing could replace it."""
    rest = set()
    for group, artifact, version in modules:
        shipped = [
            there
            for name, there, jar in spark_jars()
            if name == artifact and maven_group(jar, name) in (None, group)
        ]
        if not shipped:
            rest.add((group, artifact, version))
        elif version not in shipped:
            raise versions.VersionError(
                f"packages: {group}:{artifact}:{version} cannot replace the {artifact} "
                f"{shipped[0]} that pyspark {installed.pyspark} ships; accepted: without it"
            )
    return rest


def _problem(folder: Path, wanted: JarSet) -> str | None:
    """Why a folder does not hold the set, or None if it does. Only stats, where nothing changed."""
    try:
        manifest = _manifest(folder)
        if manifest["wanted"] != wanted.wanted:
            return f"{folder} holds other jars"
        listed = {file["name"]: file["sha256"] for file in manifest["files"]}
        if any(listed.get(name) != digest for name, digest in wanted.sha256.items()):
            return f"{folder} holds other jars"
        for file in manifest["files"]:
            jar = folder / file["name"]
            stat = jar.stat()
            if stat.st_size != file["size"]:
                return f"{jar} is damaged"
            # A copied folder has new times: then the content decides.
            if stat.st_mtime_ns != file["mtime_ns"] and _digest(jar) != file["sha256"]:
                return f"{jar} is damaged"
    except FileNotFoundError as missing:
        return f"{missing.filename} is missing"
    except (OSError, ValueError, KeyError, TypeError) as unreadable:
        return f"{folder} cannot be read ({unreadable})"
    return None


def _manifest(folder: Path) -> _Manifest:
    manifest = json.loads((folder / _MANIFEST).read_text())
    if not isinstance(manifest, dict):
        raise ValueError(f"{_MANIFEST} is not an object")
    return cast(_Manifest, manifest)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(store: Path, say: Progress) -> Iterator[None]:
    try:
        store.mkdir(parents=True, exist_ok=True)
        lock = (store / ".lock").open("w")
    except OSError as problem:
        raise JarError(f"jars cannot be kept in {store}: {problem}") from problem
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process to download jars into {store}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        # The system drops the lock of a process that was killed; what it left is of no use.
        for left in store.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _download(store: Path, wanted: JarSet, say: Progress) -> None:
    """Resolve a set and put its folder in place. The caller holds the lock."""
    started = time.monotonic()
    say(f"downloading the jars of {wanted.title} into {store} (once)")
    work = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=store))
    try:
        fresh = work / "jars"
        fresh.mkdir()
        ivy.download(store, work, fresh, wanted, say)
        files = _described(fresh, wanted, store)
        (fresh / _MANIFEST).write_text(
            json.dumps({"wanted": wanted.wanted, "files": files}, indent=1) + "\n"
        )
        for path in [*fresh.iterdir(), fresh]:
            _sync(path)
        final = store / wanted.folder
        if final.exists():  # a damaged one: moved aside first, as a rename cannot replace it
            final.rename(work / "damaged")
        fresh.rename(final)
        _sync(store)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    size = sum(file["size"] for file in files) / 1e6
    say(f"{len(files)} jars, {size:.1f} MB, {time.monotonic() - started:.0f} s")


def _file_name(group: str, artifact: str, version: str) -> str:
    return f"{group}_{artifact}-{version}.jar"


def _described(folder: Path, wanted: JarSet, store: Path) -> list[_File]:
    """The manifest's lines on what was downloaded, after a check against the pinned digests."""
    jars = {jar.name: jar for jar in sorted(folder.glob("*.jar"))}
    missing = [_file_name(*module) for module in wanted.modules if _file_name(*module) not in jars]
    if missing:
        raise JarError(unavailable(wanted, store, f"no {', '.join(missing)} came"))
    digests = {name: _digest(jar) for name, jar in jars.items()}
    for name, digest in wanted.sha256.items():
        if digests[name] != digest:
            raise JarError(
                unavailable(wanted, store, f"{name} has SHA-256 {digests[name]}, expected {digest}")
            )
    ordered = [*wanted.sha256, *(name for name in jars if name not in wanted.sha256)]
    return [
        {
            "name": name,
            "size": jars[name].stat().st_size,
            "mtime_ns": jars[name].stat().st_mtime_ns,
            "sha256": digests[name],
        }
        for name in ordered
    ]


def is_jdbc_driver(jar: Path) -> bool:
    """Whether Java finds a driver of a database in it."""
    with zipfile.ZipFile(jar) as archive:
        return "META-INF/services/java.sql.Driver" in archive.namelist()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _to_stderr(line: str) -> None:
    print(f"alluvium: {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Have the jars in a folder before anything needs them: ``python -m alluvium.engine.jars``."""
    parser = argparse.ArgumentParser(prog="alluvium.engine.jars", description=main.__doc__)
    parser.add_argument("home", type=Path, help="the engine's folder, such as .alluvium")
    parser.add_argument("packages", nargs="*", help="Maven coordinates, group:artifact:version")
    parser.add_argument("--s3a", action="store_true", help="those of s3a:// too")
    arguments = parser.parse_args()
    try:
        resolve(arguments.home, packages=arguments.packages, s3a=arguments.s3a)
    except EngineError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
