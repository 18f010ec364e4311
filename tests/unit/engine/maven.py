"""A Maven repository on disk with tiny jars, so that the real Ivy resolves without a network."""

import hashlib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

DELTA = ("delta-spark_4.2_2.13", "delta-storage")


@dataclass
class Repository:
    """Publishes modules that `jars.resolve` then finds."""

    root: Path
    lines: list[str] = field(default_factory=list)

    def publish(
        self, group: str, artifact: str, version: str, *, needs: tuple[str, ...] = ()
    ) -> str:
        """Add a module and give the SHA-256 of its jar."""
        folder = self.root.joinpath(*group.split("."), artifact, version)
        folder.mkdir(parents=True)
        dependencies = "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
            "</dependency>".format(*need.split(":"))
            for need in needs
        )
        (folder / f"{artifact}-{version}.pom").write_text(
            "<project><modelVersion>4.0.0</modelVersion>"
            f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version><dependencies>{dependencies}</dependencies></project>"
        )
        jar = folder / f"{artifact}-{version}.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            # A ZipInfo has a fixed date: the same module has the same digest in every test.
            archive.writestr(zipfile.ZipInfo(f"{artifact}.txt"), f"{group}:{artifact}:{version}")
        return hashlib.sha256(jar.read_bytes()).hexdigest()

    def say(self, line: str) -> None:
        self.lines.append(line)


def pin(folder: Path, name: str, pins: dict[tuple[str, ...], str]) -> None:
    """Write the digests of jars, by group, artifact and version, as `jars.pinned` reads them."""
    lines = (f"{digest}  {of[0]}_{of[1]}-{of[2]}.jar\n" for of, digest in pins.items())
    (folder / f"{name}.sha256").write_text("".join(lines))
