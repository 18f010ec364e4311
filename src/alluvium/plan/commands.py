"""Commands that a person is told to type."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. ]*")
# What `yaml` reads as something else than a text.
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"}


def operation(verb: str, /, **arguments: Any) -> str:
    """The command that runs one of our operations."""
    given = ", ".join(f"{key}: {_yaml(value)}" for key, value in arguments.items())
    return f"dbt run-operation alluvium.{verb} --args {shlex.quote(f'{{{given}}}')}"


def build(selection: str) -> str:
    """The command that builds some models; selection: as `dbt build -s` takes it."""
    return f"dbt build -s {shlex.quote(selection)}"


def _yaml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    is_bare = isinstance(value, str) and _BARE.fullmatch(value) and not value.isdigit()
    return value if is_bare and value.lower() not in _NOT_TEXT else json.dumps(value)
