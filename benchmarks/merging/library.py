"""Modules of the library by the names of whichever version is measured: earlier ones lay flat."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _module(name: str, earlier: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return import_module(earlier)


log = _module("alluvium.delta.log.log", "alluvium.delta.log")
pinned = _module("alluvium.delta.refs.pinned", "alluvium.delta.pinned")
