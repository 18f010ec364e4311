"""Alluvium: large Delta tables kept fresh, free of small files and versioned, from inside dbt."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("dbt-alluvium")
except PackageNotFoundError:  # used from a source tree that is not installed
    __version__ = "0.0.0"

__all__ = ["__version__", "explain_read", "scan"]


def __getattr__(name: str) -> Any:
    """`scan` and `explain_read`, which need Spark: it is loaded when they are asked for."""
    if name in ("explain_read", "scan"):
        from alluvium import pruning

        return getattr(pruning, name)
    raise AttributeError(f"module 'alluvium' has no attribute {name!r}")
