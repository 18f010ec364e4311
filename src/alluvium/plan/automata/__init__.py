"""Automata: which values one column of a data file may hold, in a tag of few bytes.

See docs/decisions/0040-automata-are-written-here.md.
"""

from alluvium.plan.automata.index import Index, summarize

__all__ = ["Index", "summarize"]
