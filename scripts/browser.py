"""Chromium without a window, asked over a pipe by its DevTools protocol: no package, no port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

# As Debian, Ubuntu, Fedora and Google call it.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found() -> str | None:
    """The program; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page in a browser; a context manager.

    Raises:
        RuntimeError: the browser refuses what it is asked, or has ended.
    """

    def __init__(self, program: str) -> None:
        self._program, self._number = program, 0

    def __enter__(self) -> Browser:
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        reads, self._asks = os.pipe()
        self._answers, writes = os.pipe()
        command = [
            *(self._program, "--headless", "--remote-debugging-pipe", "--hide-scrollbars"),
            *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            f"--user-data-dir={self._folder.name}",
        ]
        # The protocol has the numbers 3 and 4. The shell moves them there: a program of Python's
        # may have taken them already.
        moved = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", moved, str(reads), str(writes), *command],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._rest, self._session = b"", ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.ask("Page.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._asks)
        os.close(self._answers)
        self._folder.cleanup()

    def open(self, page: Path, width: int, height: int, *, is_dark: bool) -> None:
        """Show a page; width and height of the window, in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page.resolve().as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """The window as PNG; whole: the page to its end."""
        taken = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def value(self, script: str) -> Any:
        """What an expression of JavaScript gives, a promise's value too."""
        done = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in done:
            raise RuntimeError(json.dumps(done["exceptionDetails"]))
        return done["result"].get("value")

    def ask(self, method: str, **arguments: Any) -> dict[str, Any]:
        """One method of the protocol; what it answers."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": arguments}
        asked |= {"sessionId": self._session} if self._session else {}
        os.write(self._asks, json.dumps(asked).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._answers, 2**16)
            if not more:
                raise RuntimeError(f"{self._program} has ended")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(text)
        return found
