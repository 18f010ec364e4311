"""Reads that skip files by what their tags say. See docs/pruning.md."""

from alluvium.pruning.reading import explain_read, scan
from alluvium.pruning.values import values_of

__all__ = ["explain_read", "scan", "values_of"]
