"""`alluvium.log` beside dbt's own `log`, which it hides in the package; and its arguments."""

from __future__ import annotations

import types
from typing import Any

import pytest


@pytest.fixture
def said(macros: Any) -> list[Any]:
    """What went to dbt's own `log`."""
    found: list[Any] = []

    def log(msg: str, info: bool = False) -> str:
        found.append((msg, info))
        return ""

    macros.context["builtins"] = types.SimpleNamespace(log=log)
    return found


def test_a_text_goes_to_dbt(macros: Any, said: list[Any]) -> None:
    assert macros.log("one") == macros.log("two", info=True) == macros.log(msg="three") == ""
    assert said == [("one", False), ("two", True), ("three", False)]


def test_arguments(macros: Any, said: list[Any], stop: type[Exception]) -> None:
    for given, mistake in (
        ({}, "alluvium.log: model is missing; accepted: the name of a model"),
        ({"model": "a", "sho": 3}, "unknown argument sho; accepted: model, limit, since, show"),
        ({"model": "a", "limit": 0}, "limit is 0; accepted: a whole number from 1"),
        ({"model": "a", "since": "soon"}, 'since is "soon"; accepted: a date, or a date and time'),
        ({"model": "a", "show": -1}, "show is -1; accepted: a version"),
    ):
        with pytest.raises(stop, match=r"alluvium\.log: ") as stopped:
            macros.log(**given)
        assert mistake in str(stopped.value)
    assert said == []


def test_a_model_without_a_table(macros: Any, node: Any, stop: type[Exception]) -> None:
    macros.know(node())
    macros.context["adapter"].get_relation = lambda **_: None
    with pytest.raises(stop, match="there is no enabled model 'nobody'"):
        macros.log(model="nobody")


def test_other_targets(macros: Any, node: Any, stop: type[Exception]) -> None:
    macros.context["target"] = types.SimpleNamespace(type="databricks")
    with pytest.raises(stop, match=r"alluvium\.log: the target is of type databricks"):
        macros.log(model="items")
