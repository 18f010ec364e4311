"""`Files` on this machine's disk, without a JVM."""

from __future__ import annotations

import shutil
from pathlib import Path


class LocalFiles:
    """What checkpoints and ledgers ask of `alluvium.engine.files.Files`."""

    def names(self, folder: str) -> list[str]:
        place = Path(folder)
        return [entry.name for entry in place.iterdir()] if place.exists() else []

    def is_there(self, path: str) -> bool:
        return Path(path).exists()

    def read(self, path: str) -> str | None:
        return Path(path).read_text() if Path(path).exists() else None

    def replace(self, path: str, text: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)

    def delete(self, path: str) -> None:
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)
