"""What a suggested layout says on the console."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from alluvium.plan.layout.suggestion import EQUALITY, JOINED, OTHER, RANGE, Suggestion
from alluvium.wording import counted

_WAYS = (EQUALITY, RANGE, OTHER, JOINED)
# Statements that are named.
_NAMED = 8


def suggestion_lines(model: str, found: Suggestion) -> Iterator[str]:
    """Who reads the table and by which filters, the YAML to paste, and a line for each decision."""
    if not found.readers and found.block is None:
        yield f"{model}: no statement reads it"
        return
    readers, more = found.readers[:_NAMED], len(found.readers) - _NAMED
    names = ", ".join(readers) + (f", {more} more" if more > 0 else "")
    yield (
        f"{model}: read by {counted(len(found.readers), 'statement')}, {found.filtering} with"
        f" filters that can skip files" + (f" ({names})" if names else "")
    )
    if found.counts:
        width = max(len("column"), *map(len, found.counts))
        yield "  " + "  ".join(["column".ljust(width), *(f"{way:>8}" for way in _WAYS)])
        for column, count in found.counts.items():
            numbers = (f"{count[way] or '-':>8}" for way in _WAYS)
            yield "  " + "  ".join([column.ljust(width), *numbers])
    if found.block is not None:
        meta = {"meta": {"alluvium_layout": dict(found.block)}}
        # Lists and mappings of plain values on one line, as people write them.
        text = yaml.safe_dump(
            meta, default_flow_style=None, sort_keys=False, allow_unicode=True, width=10_000
        )
        yield from (f"    {line}" for line in text.splitlines())
    for reason in found.reasons:
        yield f"  - {reason}"
