"""A shell and YAML read from a command what was meant."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import yaml

from alluvium.plan.commands import build, operation


@pytest.mark.parametrize(
    "value",
    ["orders", "o'neil", 'a "b"', "it's; rm $HOME", "no", "007", 7, True, ["a'b", "ü: {x}"]],
)
def test_an_operation(value: Any) -> None:
    words = shlex.split(operation("fsck", models=value))
    assert words[:4] == ["dbt", "run-operation", "alluvium.fsck", "--args"]
    assert yaml.safe_load(words[4]) == {"models": value}


def test_a_build() -> None:
    assert shlex.split(build("+o'neil+")) == ["dbt", "build", "-s", "+o'neil+"]
