"""Ivy, which pyspark ships: it downloads a set of jars, with settings and a cache of our own."""

import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from alluvium.engine import EngineError, java, versions

IVY_SETTINGS_ENV = "ALLUVIUM_IVY_SETTINGS"
"""Environment variable: the path of an Ivy settings file (mirrors, credentials) to use for ours."""

Progress = Callable[[str], None]


class JarError(EngineError):
    """The jars cannot be had."""


@dataclass(frozen=True)
class JarSet:
    """Jars that are resolved together, into one folder.

    Attributes:
        folder, title: its name in the store, and what messages call it.
        modules: group, artifact and version of each that is asked for.
        transitive: whether what they depend on comes with them, less what is `excluded`.
        sha256: of its files, by their names, as far as they are pinned.
    """

    folder: str
    title: str
    modules: tuple[tuple[str, str, str], ...]
    transitive: bool
    sha256: dict[str, str]
    excluded: tuple[tuple[str, str], ...] = ()

    @property
    def wanted(self) -> list[str]:
        return [":".join(module) for module in self.modules]


def download(store: Path, work: Path, fresh: Path, wanted: JarSet, say: Progress) -> None:
    """Fill the folder `fresh` with the set's jars; the log of it is kept in `store`."""
    own = os.environ.get(IVY_SETTINGS_ENV)
    if own and not Path(own).is_file():
        raise JarError(f"{IVY_SETTINGS_ENV}: {own}; accepted: the path of a file")
    settings = Path(own) if own else work / "settings.xml"
    if not own:
        settings.write_text(
            '<ivysettings><settings defaultResolver="central"/>'
            '<resolvers><ibiblio name="central" m2compatible="true"/></resolvers></ivysettings>\n'
        )
    (work / "ivy.xml").write_text(_ivy_module(wanted))
    ivy = sorted((versions.spark_home() / "jars").glob("ivy-*.jar"))
    if not ivy:
        raise JarError(f"{versions.spark_home() / 'jars'} has no ivy-*.jar to download jars with")
    runtime = java.check()
    command = [
        str(runtime.path),
        "-Dsun.net.client.defaultConnectTimeout=20000",
        "-Dsun.net.client.defaultReadTimeout=60000",
        f"-Divy.default.ivy.user.dir={work}",
        "-cp",
        str(ivy[-1]),
        "org.apache.ivy.Main",
        *("-settings", str(settings)),
        *("-cache", str(work / "cache")),
        *("-ivy", str(work / "ivy.xml")),
        *("-confs", "default"),
        *("-retrieve", f"{fresh}/[organisation]_[artifact]-[revision](-[classifier]).[ext]"),
    ]
    log = store / "ivy.log"
    with log.open("w") as record:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=work
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                record.write(line)
                # "downloading URL ..." is the start of one file
                if line.startswith("downloading ") and ".jar" in line:
                    say("  " + line.split()[1].rpartition("/")[2])
        finally:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise JarError(unavailable(wanted, store, _reason(log.read_text())))


def _ivy_module(wanted: JarSet) -> str:
    """The Ivy file that asks for a set: its modules, without what is there already."""
    lines = ['<ivy-module version="2.0"><info organisation="alluvium" module="jars"/>']
    lines.append('<configurations><conf name="default"/></configurations><dependencies>')
    for group, artifact, version in wanted.modules:
        lines.append(
            f"<dependency org={quoteattr(group)} name={quoteattr(artifact)}"
            f' rev={quoteattr(version)} conf="default-&gt;default"'
            f' transitive="{str(wanted.transitive).lower()}"/>'
        )
    if wanted.transitive:
        for name, _, jar in spark_jars():
            group_there = maven_group(jar, name)
            org = f" org={quoteattr(group_there)}" if group_there else ""
            lines.append(f"<exclude{org} module={quoteattr(name)}/>")
        lines += [
            f"<exclude org={quoteattr(group)} module={quoteattr(name)}/>"
            for group, name in wanted.excluded
        ]
    lines.append("</dependencies></ivy-module>")
    return "\n".join(lines) + "\n"


def spark_jars() -> Iterator[tuple[str, str, Path]]:
    """Artifact, version and path of each jar that Spark starts from."""
    for jar in sorted((versions.spark_home() / "jars").glob("*.jar")):
        name = re.fullmatch(r"(.+?)-(\d.*)\.jar", jar.name)
        if name:
            yield name.group(1), name.group(2), jar


def maven_group(jar: Path, artifact: str) -> str | None:
    """The Maven group that a jar says it is from; None where it does not say."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            parts = entry.split("/")
            if parts[:2] == ["META-INF", "maven"] and parts[3:] == [artifact, "pom.properties"]:
                return parts[2]
    return None


def _reason(log: str) -> str:
    """What Ivy's log says went wrong: the connection if that failed, else what was not found."""
    connection, absent = [], []
    for line in log.splitlines():
        line = line.strip().lstrip(":").strip()
        if re.match(r"Host \S+ not found|Server access error|SERVER ERROR|\w*Exception\b", line):
            connection.append(re.sub(r",? (at )?url[= ]\S+", "", line))
        elif re.search(r": not found$|\(download\)$|: .*FAILED|^java\.", line):
            absent.append(line.replace("#", ":").replace(";", ":"))
    told = list(dict.fromkeys(connection or absent))[:4]
    return "; ".join(told).rstrip(".") or "Ivy gave no reason"


def unavailable(wanted: JarSet, store: Path, why: str) -> str:
    """A message: why a set cannot be had, and what to do."""
    own = os.environ.get(IVY_SETTINGS_ENV)
    where = f"the repositories of {own} ({IVY_SETTINGS_ENV})" if own else "Maven Central"
    return (
        f"The jars of {wanted.title} cannot be had: {why}.\n"
        f"  wanted: {', '.join(wanted.wanted)}\n"
        f"  looked in: {store / wanted.folder}, then {where} (log: {store / 'ivy.log'})\n"
        f"  what to do: connect to the network once. Or name an Ivy settings file with your mirror "
        f"in {IVY_SETTINGS_ENV}. Or copy {store} from a machine that has it"
    )
