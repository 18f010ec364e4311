"""Arguments of `alluvium.commits`, and where it stops."""

from __future__ import annotations

import types
from typing import Any

import pytest


def test_arguments(macros: Any, stop: type[Exception]) -> None:
    for given, mistake in (
        ({}, "alluvium.commits: model is missing; accepted: the name of a model"),
        ({"model": "a", "sho": 3}, "unknown argument sho; accepted: model, limit, since, show"),
        ({"model": "a", "limit": 0}, "limit is 0; accepted: a whole number from 1"),
        ({"model": "a", "since": "soon"}, 'since is "soon"; accepted: a date, or a date and time'),
        ({"model": "a", "show": -1}, "show is -1; accepted: a version"),
    ):
        with pytest.raises(stop, match=r"alluvium\.commits: ") as stopped:
            macros.commits(**given)
        assert mistake in str(stopped.value)


def test_a_model_without_a_table(macros: Any, node: Any, stop: type[Exception]) -> None:
    macros.know(node())
    macros.context["adapter"].get_relation = lambda **_: None
    with pytest.raises(stop, match="there is no enabled model 'nobody'"):
        macros.commits(model="nobody")


def test_other_targets(macros: Any, node: Any, stop: type[Exception]) -> None:
    macros.context["target"] = types.SimpleNamespace(type="databricks")
    with pytest.raises(stop, match=r"alluvium\.commits: the target is of type databricks"):
        macros.commits(model="items")
