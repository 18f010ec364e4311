"""The first models of a feed, written from a sample of its events."""

from __future__ import annotations

from alluvium.plan.feeds.files import generate
from alluvium.plan.feeds.sample import Sample, look

__all__ = ["Sample", "generate", "look"]
