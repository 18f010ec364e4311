"""The package's macros as dbt would render them, with queries answered by the test."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions import MacroReturn
from jinja2 import Environment

MACROS = Path(__file__).parents[2] / "macros"
PREFIX = "dbt_macro__"


class StopError(Exception):
    """`exceptions.raise_compiler_error`."""


@cache
def compiled_macros() -> tuple[Environment, list[types.CodeType]]:
    """The files of the package's macros; reading them takes a second or two."""
    environment = get_environment(None)
    texts = [path.read_text() for path in sorted(MACROS.rglob("*.sql"))]
    return environment, [environment.compile(text) for text in texts if "{% test" not in text]


class Macros:
    """Every macro of the package under its name; `context` is what dbt would provide."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.vacuumed: list[str] = []
        self.context: dict[str, Any] = {
            "execute": True,
            # A mapping, as dbt has it: the sandbox gives no attribute that begins with `_`.
            "alluvium": {},
            "return": self._return,
            "exceptions": types.SimpleNamespace(
                raise_compiler_error=self._stop, warn=self.warnings.append
            ),
            "modules": types.SimpleNamespace(re=re, datetime=datetime),
            "tojson": lambda value, default=None, sort_keys=False: json.dumps(
                value, sort_keys=sort_keys
            ),
            "local_md5": lambda text: hashlib.md5(text.encode()).hexdigest(),
            "fromjson": lambda text, default=None: json.loads(text),
            "target": types.SimpleNamespace(type="alluvium"),
            "flags": types.SimpleNamespace(FULL_REFRESH=False, EMPTY=False, WHICH="run"),
            "selected_resources": [],
            "project_name": "root",
            "var": lambda name, default=None: default,
            "invocation_args_dict": {"vars": {}},
            # What a stock target takes.
            "adapter": types.SimpleNamespace(
                vacuum=lambda relation, dry_run: self.vacuumed.append(relation.render()),
                dispatch=lambda name, package: getattr(self, f"default__{name}"),
                is_retry=lambda: False,
            ),
        }
        environment, compiled = compiled_macros()
        for code in compiled:
            known = environment.make_globals(self.context)
            template = environment.template_class.from_code(environment, code, known)
            module = template.make_module(self.context)
            for name in dir(module):
                if name.startswith(PREFIX):
                    macro = self._caught(getattr(module, name))
                    self.context["alluvium"][name.removeprefix(PREFIX)] = macro

    @staticmethod
    def _return(value: Any = None) -> str:
        raise MacroReturn(value)

    @staticmethod
    def _stop(message: str) -> None:
        raise StopError(message)

    @staticmethod
    def _caught(macro: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return macro(*args, **kwargs)
            except MacroReturn as returned:
                return returned.value

        return call

    def know(self, *nodes: Node) -> None:
        """Let the project have these nodes."""
        self.context["graph"] = {"nodes": {node["unique_id"]: node for node in nodes}}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A macro by its name; a test may leave a helper's underscore out."""
        every = self.context["alluvium"]
        for one in (name, f"_{name}"):
            if one in every:
                found: Callable[..., Any] = every[one]
                return found
        raise AttributeError(name)


class Node(dict):
    """A node of dbt's graph: a mapping whose keys are attributes in Jinja."""

    def __init__(self, meta: Any = None, **config: Any) -> None:
        super().__init__(
            name="items",
            unique_id="model.root.items",
            resource_type="model",
            package_name="root",
            raw_code="",
            depends_on={"nodes": [], "macros": []},
            config={
                "materialized": "incremental",
                "incremental_strategy": "merge",
                "unique_key": "id",
                "meta": {} if meta is None else {"alluvium_merge": meta},
            }
            | config,
        )


@dataclass(frozen=True)
class Relation:
    """As much of dbt's relation as the macros ask for."""

    identifier: str

    def render(self) -> str:
        return self.identifier

    def incorporate(self, path: dict[str, str]) -> Relation:
        return Relation(**path)

    def __str__(self) -> str:
        return self.identifier


def columns(**types_: str) -> list[Any]:
    """Columns of a relation, each by its name with its type."""
    return [types.SimpleNamespace(name=name, dtype=kind) for name, kind in types_.items()]
