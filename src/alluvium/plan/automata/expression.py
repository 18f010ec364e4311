"""From an automaton to a regular expression, for Java's engine and Python's alike.

All ways from a state may meet again in one other state (its post-dominator). Then what lies between
is written as a group, and what follows is written once. Without such a state they meet in the end.

No text makes either engine backtrack for long. Alternatives begin with different characters. Only
sets of characters are repeated, never a group. What follows a repeat begins outside of its set. So
at each character at most one alternative goes on. When a match fails, an engine gives back what
repeats took, one character at a time, and sees at once that nothing else fits there. The steps are
at most the length of the text times the alternatives of one group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from alluvium.plan.automata.chars import ANY, Chars, write
from alluvium.plan.automata.states import State, children_first

# A word that is none: what is expected of an empty column.
NOTHING = "^(?!)$"
# Groups inside one another: both engines read and evaluate them by recursion.
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class _Run:
    """Some characters of a set; `most` None: any number."""

    chars: Chars
    least: int
    most: int | None
    depth: ClassVar[int] = 0

    @property
    def text(self) -> str:
        if self.least == 0 and self.most == 1:
            count = "?"
        elif self.least == self.most:
            count = "" if self.least == 1 else f"{{{self.least}}}"
        elif self.most is None:
            count = "*" if self.least == 0 else "+" if self.least == 1 else f"{{{self.least},}}"
        else:
            count = f"{{{self.least},{self.most}}}"
        if self.chars == ANY:
            return f"(?s:.{count})"
        one = write(self.chars)
        # Twice a sign is shorter than a count.
        return one * 2 if count == "{2}" and len(one) <= 2 else one + count


@dataclass(frozen=True, slots=True)
class _Group:
    """Alternatives, written out; `depth` counts the groups inside one another."""

    text: str
    depth: int


_Part = _Run | _Group


def expression(root: State, most: int) -> str | None:
    """The anchored expression of an automaton; None if it is too long or too deep.

    most: characters that it may have.
    """
    if not root.steps and not root.final:
        return NOTHING
    states = children_first(root)
    follow = _post_dominators(states)
    parts: dict[int, tuple[_Part, ...]] = {}
    for state in states:
        parts[id(state)] = made = _between(state, follow, parts)
        groups = [part for part in made if isinstance(part, _Group)]
        if sum(len(group.text) for group in groups) > most:
            return None
        if any(group.depth > _DEEPEST for group in groups):
            return None
    written = "".join(part.text for part in _chain(root, None, follow, parts))
    text = f"^{written}$"
    return text if len(text) <= most else None


_Follow = dict[int, tuple[State | None, int]]


def _post_dominators(states: Sequence[State]) -> _Follow:
    """For each state the next one that every word passes (None: the end), and how many follow."""
    follow: _Follow = {}

    def depth(state: State | None) -> int:
        return 0 if state is None else follow[id(state)][1]

    for state in states:
        targets: list[State | None] = [step.target for step in state.steps]
        if state.final and not any(step.least == 0 for step in state.steps):
            targets.append(None)
        met = targets[0]
        for other in targets[1:]:
            while met is not other:
                if depth(met) >= depth(other):
                    met = follow[id(met)][0]
                else:
                    other = follow[id(other)][0]
        follow[id(state)] = met, depth(met) + 1
    return follow


def _between(
    state: State, follow: _Follow, parts: dict[int, tuple[_Part, ...]]
) -> tuple[_Part, ...]:
    """What lies between a state and its post-dominator."""
    stop = follow[id(state)][0]
    # Ways that meet before they reach it are written as one group in front of what they share.
    bundles: dict[object, tuple[State | None, list[tuple[_Part, ...]]]] = {}
    for step in state.steps:
        last = _last_before(step.target, stop, follow)
        way: tuple[_Part, ...] = ()
        if step.most != 0:
            way = (_Run(step.chars, step.least, step.most),)
        if last is not None:
            way = _join(way, _chain(step.target, last, follow, parts))
        bundles.setdefault(None if last is None else id(last), (last, []))[1].append(way)
    ways = []
    for last, several in bundles.values():
        group = _group(several, False)
        ways.append(group if last is None else _join(group, parts[id(last)]))
    optional = state.final and not any(step.least == 0 for step in state.steps)
    return _group(ways, optional) if ways else ()


def _last_before(state: State | None, stop: State | None, follow: _Follow) -> State | None:
    last = None
    while state is not stop:
        assert state is not None
        last, state = state, follow[id(state)][0]
    return last


def _chain(
    state: State, stop: State | None, follow: _Follow, parts: dict[int, tuple[_Part, ...]]
) -> tuple[_Part, ...]:
    """What lies between a state and one that all its words pass."""
    written: list[_Part] = []
    here: State | None = state
    while here is not stop:
        assert here is not None
        _extend(written, parts[id(here)])
        here = follow[id(here)][0]
    return tuple(written)


def _join(one: tuple[_Part, ...], other: tuple[_Part, ...]) -> tuple[_Part, ...]:
    written = list(one)
    _extend(written, other)
    return tuple(written)


def _extend(written: list[_Part], more: Sequence[_Part]) -> None:
    """Append, and count neighbouring runs of one set together."""
    for part in more:
        last = written[-1] if written else None
        if isinstance(part, _Run) and isinstance(last, _Run) and part.chars == last.chars:
            open_end = part.most is None or last.most is None
            most = None if open_end else (last.most or 0) + (part.most or 0)
            written[-1] = _Run(part.chars, last.least + part.least, most)
        else:
            written.append(part)


def _group(ways: list[tuple[_Part, ...]], optional: bool) -> tuple[_Part, ...]:
    if () in ways:
        ways = [way for way in ways if way]
        optional = True
    if not ways:
        return ()
    if len(ways) == 1:
        (way,) = ways
        if not optional:
            return way
        (only, *others) = way
        if not others and isinstance(only, _Run) and only.least <= 1:
            return (_Run(only.chars, 0, only.most),)
    text = "|".join("".join(part.text for part in way) for way in ways)
    depth = 1 + max((part.depth for way in ways for part in way), default=0)
    return (_Group(f"({text})?" if optional else f"({text})", depth),)
