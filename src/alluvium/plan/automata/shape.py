"""The structure that all texts of a column share, as an automaton: what a trim enlarges towards.

A text is cut into runs of one kind of character. Texts whose runs are of the same kinds go the same
way. Each run becomes a set of characters and a length, by position where the length is fixed:
`pod-1234-abcde` and its like are `pod-[0-9]{4}-[a-z]{5}`. Neighbouring runs differ in kind, so what
follows a run never begins with its characters.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from alluvium.plan.automata.chars import ANY, Chars, make_chars, size, write
from alluvium.plan.automata.numbers import intervals
from alluvium.plan.automata.states import Register, State, Step
from alluvium.plan.automata.texts import Texts

_Codes = npt.NDArray[np.int64]

_DIGITS, _UPPERS, _LOWERS = (48, 57), (65, 90), (97, 122)
_HEX = [((48, 57), (97, 102)), ((48, 57), (65, 70))]
_OTHER = 200  # the kind of characters beyond ASCII
_MOST_EDGES = 48
_MOST_RUNS = 64
# A run of fixed length has a set for each position up to this length.
_POSITIONS = 64


def shapes(texts: Texts, register: Register) -> Iterator[State]:
    """The structures of a column, the finest first; each accepts all the texts.

    Digits, small and capital letters apart; then letters and digits as one, as in hexadecimal; then
    all characters as one. Where texts have more forms than are of use, a structure is passed over.
    """
    if not texts.is_cut:
        for kinds in _kinds():
            if (state := _shape(texts, kinds, register)) is not None:
                yield state
    yield register.run(ANY, 0, None, register.state(True, []))


def _kinds() -> list[_Codes]:
    """The kind of each ASCII character, and of all others."""
    fine = np.arange(129) + 1
    fine[128] = _OTHER
    words = fine.copy()
    for number, (low, high) in enumerate((_DIGITS, _UPPERS, _LOWERS)):
        fine[low : high + 1] = _OTHER + 1 + number
        words[low : high + 1] = _OTHER
    return [fine, words, np.full(129, _OTHER)]


def _shape(texts: Texts, kinds: _Codes, register: Register) -> State | None:
    count = len(texts)
    kind = kinds[np.minimum(texts.codes, 128)]
    begins = np.ones(len(kind), dtype=bool)
    begins[1:] = kind[1:] != kind[:-1]
    begins[texts.starts[:-1][texts.lengths > 0]] = True
    runs = np.flatnonzero(begins)
    lengths = np.diff(np.append(runs, len(kind)))
    first = np.searchsorted(runs, texts.starts)
    several = np.diff(first)
    if several.max(initial=0) > _MOST_RUNS:
        return None
    # Forms are followed run by run; a form is a number, its edges lead to those of the next level.
    form = np.zeros(count, dtype=np.int64)
    forms = 1
    final: set[int] = set()
    edges: list[tuple[int, int, Chars | list[Chars], int, int]] = []
    active = np.arange(count)
    for level in range(_MOST_RUNS + 1):
        ended = several[active] == level
        final.update(np.unique(form[active[ended]]).tolist())
        active = active[~ended]
        if not len(active):
            break
        places = first[active] + level
        keys = form[active] * 512 + kind[runs[places]]
        distinct, which = np.unique(keys, return_inverse=True)
        if len(edges) + len(distinct) > _MOST_EDGES:
            return None
        for number, key in enumerate(distinct.tolist()):
            mine = places if len(distinct) == 1 else places[which == number]
            sets = _sets(texts.codes, runs[mine], lengths[mine])
            span = lengths[mine]
            edges.append((key // 512, forms + number, sets, int(span.min()), int(span.max())))
        form[active] = forms + which
        forms += len(distinct)
    return _join_edges(edges, final, forms, register)


def _join_edges(
    edges: list[tuple[int, int, Chars | list[Chars], int, int]],
    final: set[int],
    forms: int,
    register: Register,
) -> State:
    behind: dict[int, list[tuple[int, Chars | list[Chars], int, int]]] = {}
    for source, target, sets, least, most in edges:
        behind.setdefault(source, []).append((target, sets, least, most))
    made: dict[int, State] = {}
    for form in range(forms - 1, -1, -1):
        steps = []
        for target, sets, least, most in behind.get(form, []):
            if isinstance(sets, list):
                rest = register.chain(sets[1:], made[target])
                steps.append(Step(sets[0], rest))
            else:
                steps.append(Step(sets, made[target], least, most))
        made[form] = register.state(form in final, steps)
    return made[0]


def _sets(codes: npt.NDArray[np.uint32], begins: _Codes, lengths: _Codes) -> Chars | list[Chars]:
    """The characters of runs: by position if all are as long, else of all positions together."""
    length = int(lengths.max())
    if length == lengths.min() and length <= _POSITIONS:
        sets = [_enlarged(_distinct(codes[begins + place])) for place in range(length)]
        changes = sum(one != other for one, other in itertools.pairwise(sets))
        if changes <= 3 or all(size(chars) == 1 for chars in sets):
            return sets
        return [_enlarged(_distinct(codes[_inside(begins, lengths)]))] * length
    return _enlarged(_distinct(codes[_inside(begins, lengths)]))


def _inside(begins: _Codes, lengths: _Codes) -> _Codes:
    """The places of all characters of the runs."""
    before = np.cumsum(lengths) - lengths
    places: _Codes = np.arange(int(lengths.sum())) + np.repeat(begins - before, lengths)
    return places


def _distinct(codes: npt.NDArray[np.uint32]) -> _Codes:
    if len(codes) < 4096:
        return np.unique(codes).astype(np.int64)
    seen = np.zeros(0x110000, dtype=bool)
    seen[codes] = True
    return np.flatnonzero(seen)


def _enlarged(codes: _Codes) -> Chars:
    """The set of the characters; of letters or digits that are mostly there, all of them.

    Nothing is added that is of another kind, for a set must end where the next run begins.
    """
    exact = make_chars(codes.tolist())
    for chars in _HEX:
        inside = sum(low <= code <= high for code in codes.tolist() for low, high in chars)
        if inside == len(codes) and len(codes) >= 12:
            return chars
    parts: list[tuple[int, int]] = []
    for low, high in (_DIGITS, _UPPERS, _LOWERS):
        here = codes[(codes >= low) & (codes <= high)]
        share = len(here) / (high - low + 1)
        one_range = len(here) and here[-1] - here[0] + 1 == len(here)
        if share >= 0.8 or (share >= 0.5 and not one_range):
            parts.append((low, high))
        else:
            parts.extend(make_chars(here.tolist()))
    signs = codes[(codes < 128) & ~_is_word(codes)]
    parts.extend(make_chars(signs.tolist()))
    if len(others := codes[codes > 127]):
        parts.extend(intervals(others, 4))
    enlarged = tuple(sorted(parts))
    return exact if len(write(exact)) <= len(write(enlarged)) else enlarged


def _is_word(codes: _Codes) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(codes), dtype=bool)
    for low, high in (_DIGITS, _UPPERS, _LOWERS):
        inside |= (codes >= low) & (codes <= high)
    return inside
