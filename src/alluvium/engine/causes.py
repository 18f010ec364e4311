"""What a Java exception says, without its stack."""

from __future__ import annotations

from typing import Any


def causes(error: Any) -> list[str]:
    """One line of a Java exception (through py4j) and of each of its causes, none twice.

    Spark wraps: the first line says that a task failed, the last one why.
    """
    lines: dict[str, None] = {}
    while error is not None:
        message = str(error.getMessage() or "").strip().splitlines()
        message = message or [str(error.getClass().getSimpleName())]
        # A Python traceback ends with its reason.
        lines[message[-1] if message[0].startswith("Traceback") else message[0]] = None
        error = error.getCause()
    return list(lines)
