"""Ranges: where the values of one column of a batch lie. See docs/ranges.md."""
