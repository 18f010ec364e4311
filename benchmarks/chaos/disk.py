"""A disk that can be made full: a file system in memory, whose size is what it holds just now."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZE = 4 * 2**30  # a bound, and no memory until files take it


class Disk:
    """A folder that is a file system of its own, where this process may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.can_be_full = self._mount(f"size={_SIZE}") == 0

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes."""
        found = os.statvfs(self.folder)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        # Refused where files grew since.
        while self._mount(f"remount,size={used + left}"):
            left += found.f_frsize

    def free(self) -> None:
        self._mount(f"remount,size={_SIZE}")

    def _mount(self, options: str) -> int:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        try:
            return subprocess.run(command, capture_output=True, timeout=60).returncode
        except FileNotFoundError:
            return 1


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """A disk while the block runs."""
    made = Disk(folder)
    try:
        yield made
    finally:
        if made.can_be_full:
            # What still writes there keeps it until it ends.
            subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=60)
