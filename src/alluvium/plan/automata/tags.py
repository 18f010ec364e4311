"""The tag of a data file that holds the indexes of several of its columns: one JSON object."""

import json
from collections.abc import Mapping

from alluvium.plan.automata.index import Index


def to_text(indexes: Mapping[str, Index | None]) -> str:
    """The text of the tag.

    Args:
        indexes: by the names that the columns have in files and in the log; None for a column that
            was looked at, and has none in this file.
    """
    # The objects themselves: in a text inside of the text the log would double each quote again.
    return json.dumps(
        {name: index and json.loads(index.to_tag()) for name, index in indexes.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    )
