"""What one data file's tag says of one column: which values it may hold."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from alluvium.plan.automata.conjunct import Conjunct
from alluvium.plan.automata.expression import NOTHING, expression
from alluvium.plan.automata.minimal import minimal, prefix_tree
from alluvium.plan.automata.numbers import (
    INTEGERS,
    OTHERS,
    Intervals,
    intervals,
    may_pass,
    number_of,
    type_name,
    whole_numbers,
)
from alluvium.plan.automata.reading import Choice, UnreadError, goes_on, read, words
from alluvium.plan.automata.states import Register, count_words
from alluvium.plan.automata.texts import Texts, as_array, make_texts
from alluvium.plan.automata.trim import trim, written_bytes

VERSION = 1
# Up to so many values, and characters of all together, the automaton of just the values is made.
_MOST_VALUES = 4096
_MOST_CODES = 65_536
# States for a byte of the expression from which on it is not even written: it hardly ever fits.
_STATES = 4
# Conditions that an expression cannot answer are tried on the words, if there are so few.
_MOST_WORDS = 10_000
_TYPE = re.compile(r"decimal\([0-9]{1,2},[0-9]{1,2}\)|" + "|".join((*INTEGERS, *OTHERS)))


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

    @staticmethod
    def from_tag(tag: str | None) -> "Index | None":
        """What a tag says; None where it says nothing that can be relied on: keep the file."""
        try:
            return _from_json(json.loads(tag or "null"))
        except (ValueError, RecursionError, OverflowError, re.error):
            return None

    def may_contain(self, value: Any) -> bool:
        """Whether the file may have a row with the value, which is not NULL."""
        return self.may_match(Conjunct("=", (value,)))

    def may_match(self, conjunct: Conjunct) -> bool:
        """Whether the file may have a row for which the condition is true."""
        if self.has_null and conjunct.holds(None):
            return True
        if conjunct.operator == "is_null":
            return conjunct.negated and not self._is_empty
        if None in conjunct.operands:
            return self._with_null(conjunct)
        if self.text is None:
            return self._may_have_number(conjunct)
        return self._may_have_text(conjunct)

    @property
    def _is_empty(self) -> bool:
        return self.text == NOTHING if self.text is not None else not self.held

    def _with_null(self, conjunct: Conjunct) -> bool:
        """A comparison with NULL: never true of a value, but for a list's others and NOT <=>."""
        if conjunct.operator == "<=>":
            return conjunct.negated and not self._is_empty
        if conjunct.operator == "in" and not conjunct.negated:
            others = tuple(value for value in conjunct.operands if value is not None)
            return self.may_match(Conjunct("in", others))
        return False

    def _may_have_number(self, conjunct: Conjunct) -> bool:
        assert self.type is not None
        numbers = [number_of(value, self.type) for value in conjunct.operands]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or conjunct.operator in ("starts_with", "contains"):
            return True
        return may_pass(self.held, conjunct.operator, known, conjunct.negated)

    def _may_have_text(self, conjunct: Conjunct) -> bool:
        operands = conjunct.operands
        if not all(isinstance(value, str) for value in operands):
            return True
        if not conjunct.negated:
            if conjunct.operator in ("=", "<=>", "in"):
                return any(self._pattern.fullmatch(value) for value in operands)
            if conjunct.operator == "starts_with":
                return goes_on(self._read, operands[0])
        return self._words is None or any(conjunct.holds(word) for word in self._words)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        assert self.text is not None
        return re.compile(self.text)

    @cached_property
    def _read(self) -> Choice:
        assert self.text is not None
        return read(self.text)

    @cached_property
    def _words(self) -> list[str] | None:
        return words(self._read, _MOST_WORDS)


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


def _from_json(tag: Any) -> Index | None:
    if not isinstance(tag, dict) or tag.get("v") != VERSION or tag["v"] is True:
        return None
    has_null, exact = tag.get("null", False), tag.get("exact", False)
    if not (isinstance(has_null, bool) and isinstance(exact, bool)):
        return None
    if tag.keys() - {"v", "null", "exact"} == {"re"} and isinstance(tag["re"], str):
        index = Index(has_null, exact, tag["re"])
        try:
            return index if index._read and index._pattern else None
        except UnreadError:
            return None
    if tag.keys() - {"v", "null", "exact"} == {"type", "in"}:
        return _from_intervals(has_null, exact, tag["type"], tag["in"])
    return None


def _from_intervals(has_null: bool, exact: bool, kind: Any, bounds: Any) -> Index | None:
    if not (isinstance(kind, str) and _TYPE.fullmatch(kind) and isinstance(bounds, list)):
        return None
    if len(bounds) % 2 or any(type(bound) is not int for bound in bounds):
        return None
    held = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    if bounds != sorted(bounds):
        return None
    return Index(has_null, exact, type=kind, held=held)
