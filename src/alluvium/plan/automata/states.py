"""Deterministic acyclic automata, apart from runs: a run takes any number of one set's characters.

A state's steps take disjoint sets of characters. Behind a run of varying length comes nothing that
begins with a character of its set. So each character of a word can be taken in one way only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from alluvium.plan.automata.chars import Chars, has, size, union


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """A state; two are the same only if they are one object.

    Attributes:
        final: a word may end here.
        steps: in the order of their characters. At most one may take none, and then other steps
            take no character that the words behind it begin with.
    """

    final: bool
    steps: tuple["Step", ...]


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A way to another state, over `least` to `most` characters of a set; `most` None: any."""

    chars: Chars
    target: State
    least: int = 1
    most: int | None = 1

    @property
    def is_one(self) -> bool:
        return self.least == 1 and self.most == 1


@dataclass
class Register:
    """States by what they are, so that equal ones are one: what makes an automaton minimal."""

    known: dict[tuple[object, ...], State] = field(default_factory=dict)

    def state(self, final: bool, steps: list[Step]) -> State:
        """The one state with these steps; those of one character to one state become one step."""
        singles: dict[int, list[Step]] = {}
        merged = [step for step in steps if not step.is_one]
        for step in steps:
            if step.is_one:
                singles.setdefault(id(step.target), []).append(step)
        merged += [
            group[0] if len(group) == 1 else Step(union(*(s.chars for s in group)), group[0].target)
            for group in singles.values()
        ]
        merged.sort(key=lambda step: step.chars)
        key = (final, *((step.chars, id(step.target), step.least, step.most) for step in merged))
        return self.known.setdefault(key, State(final, tuple(merged)))

    def chain(self, sets: list[Chars], target: State) -> State:
        """One character of each set, then the target."""
        for chars in reversed(sets):
            target = self.state(False, [Step(chars, target)])
        return target

    def run(self, chars: Chars, least: int, most: int | None, target: State) -> State:
        """A number of characters of the set, then the target."""
        if least == most and least <= 64:
            return self.chain([chars] * least, target)
        return self.state(least == 0 and target.final, [Step(chars, target, least, most)])

    def after(self, state: State, code: int) -> State | None:
        """Where the character leads; None if no word goes on so.

        What is left of a run of varying length becomes one of any length. So states are the same if
        they differ only in how much of it is behind them.
        """
        for step in state.steps:
            if has(step.chars, code):
                if step.is_one:
                    return step.target
                if step.least == 0 and step.most is None:
                    return state
                if step.least == step.most:
                    return self.run(step.chars, step.least - 1, step.least - 1, step.target)
                return self.run(step.chars, 0, None, step.target)
            if step.least == 0:
                return self.after(step.target, code)
        return None


def children_first(root: State) -> list[State]:
    """The states that can be reached, each behind those that it leads to."""
    order: list[State] = []
    seen = {id(root)}
    stack: list[tuple[State, Iterator[Step]]] = [(root, iter(root.steps))]
    while stack:
        state, left = stack[-1]
        for step in left:
            if id(step.target) not in seen:
                seen.add(id(step.target))
                stack.append((step.target, iter(step.target.steps)))
                break
        else:
            order.append(state)
            stack.pop()
    return order


def count_words(root: State) -> int | None:
    """How many words the automaton accepts; None if there is no end to them.

    No word is counted twice, because each is accepted in one way only.
    """
    counts: dict[int, int] = {}
    for state in children_first(root):
        total = int(state.final and not _is_empty_run(state))
        for step in state.steps:
            if step.most is None:
                return None
            several = size(step.chars)
            powers = sum(several**length for length in range(step.least, step.most + 1))
            total += powers * counts[id(step.target)]
        counts[id(state)] = total
    return counts[id(root)]


def weigh(root: State, weight: Callable[[Chars], float], end: float) -> float:
    """The chance that a random word is accepted, each character drawn by itself.

    Args:
        weight: the chance that the next character is one of the set.
        end: the chance that the word ends instead.
    """
    masses: dict[int, float] = {}
    for state in children_first(root):
        mass = end if state.final and not _is_empty_run(state) else 0.0
        for step in state.steps:
            chance = weight(step.chars)
            behind = masses[id(step.target)] * chance**step.least
            if step.most is None:
                mass += behind / (1 - chance)
            else:
                mass += behind * sum(chance**more for more in range(step.most - step.least + 1))
        masses[id(state)] = mass
    return masses[id(root)]


def _is_empty_run(state: State) -> bool:
    """Whether a step may take nothing: the state's end is that of the step's target."""
    return any(step.least == 0 for step in state.steps)
