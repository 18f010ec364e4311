"""Whether a file may have a row that passes a condition, by the index of the condition's column."""

import json
import re
from functools import lru_cache
from typing import Any

from alluvium.plan.automata.expression import NOTHING
from alluvium.plan.automata.index import VERSION, Index
from support.automata.conjunct import Conjunct
from support.automata.numbers import INTEGERS, OTHERS, may_pass, number_of
from support.automata.reading import UnreadError, goes_on, read, words

# Conditions that an expression cannot answer are tried on the words, if there are so few.
_MOST_WORDS = 10_000
_TYPE = re.compile(r"decimal\([0-9]{1,2},[0-9]{1,2}\)|" + "|".join((*INTEGERS, *OTHERS)))
# Of the texts of indexes, most of which are asked many times in a row.
_read = lru_cache(read)


@lru_cache
def _words(text: str) -> list[str] | None:
    return words(_read(text), _MOST_WORDS)


def may_contain(index: Index, value: Any) -> bool:
    """Whether the file may have a row with the value, which is not NULL."""
    return may_match(index, Conjunct("=", (value,)))


def may_match(index: Index, conjunct: Conjunct) -> bool:
    """Whether the file may have a row for which the condition is true."""
    if index.has_null and conjunct.holds(None):
        return True
    if conjunct.operator == "is_null":
        return conjunct.negated and not _is_empty(index)
    if None in conjunct.operands:
        return _with_null(index, conjunct)
    if index.text is None:
        return _may_have_number(index, conjunct)
    return _may_have_text(index.text, conjunct)


def _is_empty(index: Index) -> bool:
    return index.text == NOTHING if index.text is not None else not index.held


def _with_null(index: Index, conjunct: Conjunct) -> bool:
    """A comparison with NULL: never true of a value, but for a list's others and NOT <=>."""
    if conjunct.operator == "<=>":
        return conjunct.negated and not _is_empty(index)
    if conjunct.operator == "in" and not conjunct.negated:
        others = tuple(value for value in conjunct.operands if value is not None)
        return may_match(index, Conjunct("in", others))
    return False


def _may_have_number(index: Index, conjunct: Conjunct) -> bool:
    assert index.type is not None
    numbers = [number_of(value, index.type) for value in conjunct.operands]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or conjunct.operator in ("starts_with", "contains"):
        return True
    return may_pass(index.held, conjunct.operator, known, conjunct.negated)


def _may_have_text(text: str, conjunct: Conjunct) -> bool:
    operands = conjunct.operands
    if not all(isinstance(value, str) for value in operands):
        return True
    if not conjunct.negated:
        if conjunct.operator in ("=", "<=>", "in"):
            return any(re.fullmatch(text, value) for value in operands)
        if conjunct.operator == "starts_with":
            return goes_on(_read(text), operands[0])
    known = _words(text)
    return known is None or any(conjunct.holds(word) for word in known)


def from_text(text: str | None) -> dict[str, Index]:
    """What a file's tag says, by column, without those of which it says nothing to rely on."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    read = {name: from_tag(json.dumps(one)) for name, one in found.items()}
    return {name: index for name, index in read.items() if index is not None}


def from_tag(tag: str | None) -> Index | None:
    """What `Index.to_tag` wrote; None for what nobody can rely on: keep the file."""
    try:
        return _from_json(json.loads(tag or "null"))
    except (ValueError, RecursionError, OverflowError, re.error):
        return None


def _from_json(tag: Any) -> Index | None:
    if not isinstance(tag, dict) or tag.get("v") != VERSION or tag["v"] is True:
        return None
    has_null, exact = tag.get("null", False), tag.get("exact", False)
    if not (isinstance(has_null, bool) and isinstance(exact, bool)):
        return None
    if tag.keys() - {"v", "null", "exact"} == {"re"} and isinstance(tag["re"], str):
        index = Index(has_null, exact, tag["re"])
        try:
            return index if _read(tag["re"]) and re.compile(tag["re"]) else None
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
