"""moto's S3 on one port, for tests: ``s3_server.py <port> <log>`` with the Python of .venv-moto.

Three things that moto does not do. A conditional PUT looks and writes in one step (moto looks, then
writes, in threads: two may win). Each request leaves a line of JSON in the log. And answers are
spoilt on demand:

``GET /__spoil?kinds=cut-after,409-before&every=7&match=_delta_log``: of the PUTs and POSTs with
that text in their path each seventh is spoilt, by each kind in turn. With ``agent=Hadoop`` those
alone whose client says that it is Hadoop. A kind is what is answered
(``cut``: nothing, the connection ends) and whether that is ``before`` the write, which is then not
made, or ``after`` it. ``none`` lets one pass. With ``every=0`` none is spoilt.
``GET /__ignore?on=1``: conditions are ignored. ``GET /__refuse?on=1``: no key is known.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

Start = Callable[..., Any]
_CODES = {
    "403": "InvalidAccessKeyId",
    "409": "ConditionalRequestConflict",
    "500": "InternalError",
    "503": "SlowDown",
}
_CONDITION = "HTTP_IF_NONE_MATCH"
# What S3A names, for a store's audit, as the operation that a request is of.
_OPERATION = re.compile(r"/hadoop/\d+/(\w+)/")


class Server:
    """A WSGI application around moto's."""

    def __init__(self, log: str) -> None:
        self._moto = create_backend_app("s3")
        self._log = Path(log).open("a", buffering=1)  # noqa: SIM115
        self._one_at_a_time, self._guard = threading.Lock(), threading.Lock()
        self._kinds: Iterator[str] = iter(())
        self._every = self._seen = 0
        self._match = self._agent = ""
        self._ignores = self._refuses = False

    def __call__(self, env: dict[str, Any], start: Start) -> list[bytes]:
        if env["PATH_INFO"].startswith("/__"):
            return self._order(env, start)
        kind = "403-before" if self._refuses else self._spoilt(env)
        what, _, when = kind.partition("-")
        if when == "before":
            env["wsgi.input"].read(int(env.get("CONTENT_LENGTH") or 0))
            return self._answer(env, start, what, 0, kind)
        if self._ignores:
            env.pop(_CONDITION, None)
        told: dict[str, Any] = {}

        def keep(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
            told.update(status=status, headers=headers)

        if _CONDITION in env:
            with self._one_at_a_time:
                body = b"".join(self._moto(env, keep))
        else:
            body = b"".join(self._moto(env, keep))
        status = int(told["status"].split()[0])
        if kind and status == 200:
            return self._answer(env, start, what, status, kind)
        self._note(env, status, "")
        start(told["status"], told["headers"])
        return [body]

    def _order(self, env: dict[str, Any], start: Start) -> list[bytes]:
        asked = {name: value[0] for name, value in parse_qs(env["QUERY_STRING"]).items()}
        with self._guard:
            if env["PATH_INFO"] == "/__spoil":
                self._kinds = cycle(asked["kinds"].split(","))
                self._every, self._seen = int(asked["every"]), 0
                self._match, self._agent = asked["match"], asked.get("agent", "")
            elif env["PATH_INFO"] == "/__ignore":
                self._ignores = asked["on"] == "1"
            elif env["PATH_INFO"] == "/__refuse":
                self._refuses = asked["on"] == "1"
        start("200 OK", [])
        return [b""]

    def _spoilt(self, env: dict[str, Any]) -> str:
        """By what a request is spoilt; empty for most."""
        if env["REQUEST_METHOD"] not in ("PUT", "POST") or self._match not in env["PATH_INFO"]:
            return ""
        if self._agent not in env.get("HTTP_USER_AGENT", ""):
            return ""
        with self._guard:
            self._seen += 1
            kind = next(self._kinds) if self._every and self._seen % self._every == 0 else ""
            return "" if kind == "none" else kind

    def _answer(
        self, env: dict[str, Any], start: Start, what: str, status: int, kind: str
    ) -> list[bytes]:
        self._note(env, status, kind)
        if what == "cut":
            env["werkzeug.socket"].shutdown(2)
            return [b""]
        start(f"{what} Spoilt", [("Content-Type", "application/xml")])
        return [f"<Error><Code>{_CODES[what]}</Code></Error>".encode()]

    def _note(self, env: dict[str, Any], status: int, spoilt: str) -> None:
        referrer = env.get("HTTP_REFERER", "")
        line = {
            "method": env["REQUEST_METHOD"],
            "path": unquote(env["PATH_INFO"]),
            "query": unquote(env.get("QUERY_STRING", "")),
            "conditional": _CONDITION in env,
            "operation": asked[1] if (asked := _OPERATION.search(referrer)) else "",
            "status": status,
            "spoilt": spoilt,
        }
        self._log.write(json.dumps(line) + "\n")


class Handler(MotoRequestHandler):
    """Of moto, without its log."""

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), Server(sys.argv[2]), threaded=True,
               request_handler=Handler)  # fmt: skip
