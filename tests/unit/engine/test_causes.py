"""Lines of Java exceptions, as py4j gives them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from alluvium.engine.causes import causes, is_cancelled


def thrown(message: str | None, cause: SimpleNamespace | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        getMessage=lambda: message,
        getCause=lambda: cause,
        getClass=lambda: SimpleNamespace(getSimpleName=lambda: "Thrown"),
    )


def test_one_line_of_each_cause() -> None:
    python = thrown("Traceback (most recent call last):\n  File x\nValueError: not 3\n")
    inner = thrown("[TASK_WRITE_FAILED] in task 1\nDriver stack:", thrown(None, python))
    assert causes(thrown("[TASK_WRITE_FAILED] in task 1\nat y", inner)) == [
        "[TASK_WRITE_FAILED] in task 1",
        "Thrown",
        "ValueError: not 3",
    ]


def test_an_empty_message_is_the_class() -> None:
    assert causes(thrown(" ")) == ["Thrown"]


def test_no_exception_no_line() -> None:
    assert causes(None) == []


def test_what_fails_after_spark_was_stopped_is_cancelled() -> None:
    stopped: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))
    assert is_cancelled(stopped, ConnectionError())
