"""The minimal acyclic automaton of a set of words.

J. Daciuk, S. Mihov, B. Watson, R. Watson: Incremental Construction of Minimal Acyclic Finite-State
Automata, Computational Linguistics 26(1), 2000; the algorithm for sorted words. Of all words that
share a prefix the last one comes before any other word. Once the next word leaves a state behind,
nothing can be added to it. Then it is looked up in the register of finished states.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from alluvium.plan.automata.chars import Chars
from alluvium.plan.automata.states import Register, State, Step


@dataclass(slots=True)
class _Open:
    """A state on the path of the word that was added last."""

    final: bool = False
    steps: list[tuple[Chars, State]] = field(default_factory=list)


def minimal(words: Iterable[str], register: Register, most: int) -> State | None:
    """The automaton that accepts just the words, which are sorted and distinct.

    most: states from which on it is given up, None.
    """
    return _build(words, register, True, most)


def prefix_tree(words: Iterable[str], register: Register, most: int) -> State | None:
    """The same, but only ends are shared: each word can be read in it from end to end."""
    return _build(words, register, False, most)


def _build(words: Iterable[str], register: Register, share: bool, most: int) -> State | None:
    finished = 0
    path = [_Open()]
    previous = ""
    for word in words:
        common = _common_prefix(previous, word)
        finished = len(register.known) if share else finished + len(previous) - common
        if finished > most:
            return None
        _close(path, previous, common, register, share)
        path.extend(_Open() for _ in range(len(word) - common))
        path[-1].final = True
        previous = word
    _close(path, previous, 0, register, share)
    return _finish(path[0], register, share)


def _close(path: list[_Open], word: str, depth: int, register: Register, share: bool) -> None:
    """Finish the states of the word's path below a depth."""
    for position in range(len(path) - 2, depth - 1, -1):
        code = ord(word[position])
        finished = _finish(path.pop(), register, share)
        path[-1].steps.append((((code, code),), finished))


def _finish(state: _Open, register: Register, share: bool) -> State:
    steps = [Step(chars, target) for chars, target in state.steps]
    if share or not steps:
        return register.state(state.final, steps)
    # A register of its own merges the steps to one end, and nothing else.
    return Register().state(state.final, steps)


def _common_prefix(one: str, other: str) -> int:
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))
