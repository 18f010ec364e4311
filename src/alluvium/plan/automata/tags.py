"""The tag of a data file that holds the indexes of several of its columns: one JSON object."""

import json
from collections.abc import Mapping

from alluvium.plan.automata.index import Index


def to_text(indexes: Mapping[str, Index]) -> str:
    """The text of the tag.

    Args:
        indexes: by the names that the columns have in files and in the log.
    """
    # The objects themselves: in a text inside of the text the log would double each quote again.
    return json.dumps(
        {name: json.loads(index.to_tag()) for name, index in indexes.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def from_text(text: str | None) -> dict[str, Index]:
    """What a tag says, by column; columns of which it says nothing to rely on are left out."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    read = {name: Index.from_tag(json.dumps(one)) for name, one in found.items()}
    return {name: index for name, index in read.items() if index is not None}
