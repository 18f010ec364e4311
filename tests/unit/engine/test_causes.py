"""Lines of Java exceptions, as py4j gives them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from alluvium.engine.causes import causes


@dataclass
class Thrown:
    message: str | None
    cause: Thrown | None = None

    def getMessage(self) -> str | None:  # noqa: N802
        return self.message

    def getCause(self) -> Thrown | None:  # noqa: N802
        return self.cause

    def getClass(self) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(getSimpleName=lambda: "Thrown")


def test_one_line_of_each_cause() -> None:
    python = Thrown("Traceback (most recent call last):\n  File x\nValueError: not 3\n")
    inner = Thrown("[TASK_WRITE_FAILED] in task 1\nDriver stack:", Thrown(None, python))
    assert causes(Thrown("[TASK_WRITE_FAILED] in task 1\nat y", inner)) == [
        "[TASK_WRITE_FAILED] in task 1",
        "Thrown",
        "ValueError: not 3",
    ]


def test_an_empty_message_is_the_class() -> None:
    assert causes(Thrown(" ")) == ["Thrown"]


def test_no_exception_no_line() -> None:
    assert causes(None) == []
