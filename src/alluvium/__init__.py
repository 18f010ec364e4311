"""Alluvium: large Delta tables kept fresh, free of small files and versioned, from inside dbt."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("dbt-alluvium")
except PackageNotFoundError:  # used from a source tree that is not installed
    __version__ = "0.0.0"

__all__ = ["__version__"]
