"""What one data file's tag says of one column: which values it may hold."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from alluvium.plan.automata.expression import expression
from alluvium.plan.automata.minimal import minimal, prefix_tree
from alluvium.plan.automata.numbers import Intervals, intervals, type_name, whole_numbers
from alluvium.plan.automata.states import Register, count_words
from alluvium.plan.automata.texts import Texts, as_array, make_texts
from alluvium.plan.automata.trim import trim, written_bytes

VERSION = 1
# Up to so many values, and characters of all together, the automaton of just the values is made.
_MOST_VALUES = 4096
_MOST_CODES = 65_536
# States for a byte of the expression from which on it is not even written: it hardly ever fits.
_STATES = 4


@dataclass(frozen=True)
class Index:
    """Values that a column of a file may hold. Whatever is in the file is among them.

    Attributes:
        has_null: the column has a NULL.
        exact: the values are just those of the file.
        text: for a column of strings, the expression that they match; else None.
        type: for a column of whole numbers, its Spark type; else None.
        held: for a column of whole numbers, intervals that hold them: days since 1970, microseconds
            since then, unscaled decimals, 0 and 1 for booleans.
        loss: how likely a value that is not in the file, though made like its values, is taken for
            one that is: 0 to 1. Only `summarize` knows it; no tag has it.
    """

    has_null: bool
    exact: bool
    text: str | None = None
    type: str | None = None
    held: Intervals = ()
    loss: float = field(default=0.0, compare=False)

    def to_tag(self) -> str:
        """The tag of the file, as JSON."""
        tag: dict[str, Any] = {"v": VERSION}
        if self.has_null:
            tag["null"] = True
        if self.exact:
            tag["exact"] = True
        if self.text is not None:
            tag["re"] = self.text
        else:
            tag["type"] = self.type
            tag["in"] = [bound for interval in self.held for bound in interval]
        return json.dumps(tag, ensure_ascii=False, separators=(",", ":"))


def summarize(values: pa.Array | pa.ChunkedArray | Iterable[object], budget: int) -> Index | None:
    """The index of a column's values.

    Args:
        values: in any order, repeated or not, NULLs too: strings, integers, booleans, dates,
            timestamps in microseconds or decimals of up to 18 digits.
        budget: bytes that the tag may have, as UTF-8.

    Returns:
        None where the type is another, a text is not Unicode, or the budget holds nothing that
        would exclude any value: then the file is always to be kept.
    """
    try:
        array = as_array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        return None
    has_null = array.null_count > 0
    present = array.drop_null()
    index: Index | None
    if pa.types.is_large_string(array.type) or pa.types.is_null(array.type):
        index = _of_texts(make_texts(present.cast(pa.large_string())), has_null, budget)
    elif kind := type_name(array.type):
        index = _of_numbers(whole_numbers(present), kind, has_null, budget)
    else:
        return None
    return index if index is not None and _bytes(index) <= budget else None


def _of_texts(texts: Texts, has_null: bool, budget: int) -> Index | None:
    room = budget - _bytes(Index(has_null, True, ""))
    if (text := _exact_text(texts, room)) is not None:
        return Index(has_null, True, text)
    # Room for `exact` is kept: a trimmed automaton may accept just the values too.
    if not len(texts) or room < 1 or (trimmed := trim(texts, room)) is None:
        return None
    exact = not texts.is_cut and count_words(trimmed.state) == len(texts)
    return Index(has_null, exact, trimmed.text, loss=0.0 if exact else trimmed.share)


def _exact_text(texts: Texts, room: int) -> str | None:
    """The expression of just the values; None if it does not fit.

    Whole words are easier to read than those whose ends are shared, so they stay whole unless the
    text becomes a quarter shorter by it.
    """
    if len(texts) > _MOST_VALUES or len(texts.codes) > _MOST_CODES or texts.is_cut:
        return None
    values = texts.values.to_pylist()
    state = minimal(values, Register(), _STATES * room)
    shared = None if state is None else expression(state, room)
    if shared is None or written_bytes(shared) > room:
        return None
    state = prefix_tree(values, Register(), _STATES * room)
    whole = None if state is None else expression(state, room)
    if whole is None or written_bytes(whole) > room:
        return shared
    return shared if 4 * written_bytes(shared) <= 3 * written_bytes(whole) else whole


def _of_numbers(numbers: np.ndarray, kind: str, has_null: bool, budget: int) -> Index | None:
    low, high = 0, budget
    found = None
    while low < high:
        most = (low + high + 1) // 2
        held = intervals(numbers, most)
        extra = sum(end - start + 1 for start, end in held) - len(numbers)
        loss = extra / (held[-1][1] - held[0][0] + 1 - len(numbers)) if extra else 0.0
        index = Index(has_null, not extra, type=kind, held=held, loss=loss)
        if _bytes(index) <= budget:
            found, low = index, most
        else:
            high = most - 1
    return found


def _bytes(index: Index) -> int:
    return len(index.to_tag().encode())
