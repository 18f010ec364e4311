"""The automaton of a column that is too long for its budget, trimmed.

All states are merged into the column's structure (`shape`) but those on chosen prefixes, which stay
as they are. Every word of the column is accepted before and after, so a trim only ever enlarges.

**What it costs, the measure.** A word with the column's structure is drawn at random. Each
character has the frequency that it has in the column. How likely is it accepted? That is the share
of absent values of the same make for which a file is read in vain. Counting accepted words would
not do: a tail of 40 characters outweighs all else, though no query asks for most. The end of a
prefix that most such words share is told apart next: it excludes the most for each byte.
Of the structures, the one is taken whose result accepts the fewest words drawn without structure.

The source of the idea, fragments' trimmed automata kept as regular expressions: Datadog's articles
on its event store Husky.
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from alluvium.plan.automata.chars import Chars, has, make_chars
from alluvium.plan.automata.expression import expression
from alluvium.plan.automata.shape import shapes
from alluvium.plan.automata.states import Register, State, Step, weigh
from alluvium.plan.automata.texts import Texts

# From so many texts on only the finest structure is tried.
_MANY = 50_000


@dataclass(slots=True)
class _Prefix:
    """Texts with one prefix: those from `low` to `high`, of which `depth` characters are told."""

    low: int
    high: int
    depth: int
    state: State
    chance: float
    followers: list[tuple[int, "_Prefix"]] = field(default_factory=list)
    ends: bool = False
    told: int | None = None


@dataclass(frozen=True)
class _Frequencies:
    """How often characters occur in a column; a text's end counts as one."""

    codes: np.ndarray
    shares: np.ndarray
    end: float

    @staticmethod
    def of(texts: Texts) -> "_Frequencies":
        codes, counts = np.unique(texts.codes, return_counts=True)
        total = counts.sum() + len(texts)
        return _Frequencies(codes.astype(np.int64), counts / total, len(texts) / total)

    def of_set(self, chars: Chars) -> float:
        lows = np.searchsorted(self.codes, [low for low, _ in chars])
        highs = np.searchsorted(self.codes, [high for _, high in chars], side="right")
        return float(sum(self.shares[a:b].sum() for a, b in zip(lows, highs, strict=True)))

    def of_one(self, code: int) -> float:
        return float(self.shares[np.searchsorted(self.codes, code)])


@dataclass(frozen=True, slots=True)
class Trimmed:
    """An automaton that accepts more than the values that it is of.

    Attributes:
        text: its expression.
        loss: how likely it accepts a word that is drawn at random.
        share: how likely one that has the structure of the values.
    """

    state: State
    text: str
    loss: float
    share: float


def trim(texts: Texts, budget: int) -> Trimmed | None:
    """The automaton with the least loss whose expression has at most so many bytes.

    Args:
        texts: one at least.

    Returns:
        None where nothing but "anything" fits.
    """
    frequencies = _Frequencies.of(texts)
    best: Trimmed | None = None
    register = Register()
    for shape in shapes(texts, register):
        fitting = _longest(texts, shape, frequencies, register, budget)
        if fitting is not None and (best is None or fitting.loss < best.loss):
            best = fitting
        if len(texts) > _MANY and fitting is not None:
            break
    return None if best is None or best.text == "^(?s:.*)$" else best


def _longest(
    texts: Texts, shape: State, frequencies: _Frequencies, register: Register, budget: int
) -> Trimmed | None:
    """As many prefixes told apart as fit, the likeliest first."""
    telling = _tell(texts, shape, frequencies, register)
    order: list[_Prefix] = []
    best: Trimmed | None = None
    whole = weigh(shape, frequencies.of_set, frequencies.end)

    def fits(told: int) -> bool:
        nonlocal best
        state = _automaton(order, told, register) if told else shape
        text = expression(state, budget)
        if text is None or written_bytes(text) > budget:
            return False
        loss = weigh(state, frequencies.of_set, frequencies.end)
        # A prefix that ends inside of a run forgets the run's length, so more may be less.
        if best is None or loss <= best.loss:
            best = Trimmed(state, text, loss, min(1.0, loss / whole) if whole else 1.0)
        return True

    # More prefixes at a time until they do not fit; then what fits between.
    low, chunk = 0, 32
    fits(0)
    while len(order) <= budget:
        more = list(itertools.islice(telling, chunk))
        order += more
        if not more or not fits(len(order)):
            break
        low, chunk = len(order), len(order)
    high = len(order) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return best


def _tell(
    texts: Texts, shape: State, frequencies: _Frequencies, register: Register
) -> Iterator[_Prefix]:
    """The prefixes whose followers are told, in the order in which they are."""
    waiting = [(-1.0, 0, _Prefix(0, len(texts), 0, shape, 1.0))]
    waited = 0
    for told in itertools.count():
        if not waiting:
            return
        _, _, prefix = heapq.heappop(waiting)
        _expand(texts, prefix, frequencies, register)
        prefix.told = told
        yield prefix
        for _, follower in prefix.followers:
            if follower.depth < texts.limit and follower.state.steps:
                waited += 1
                # Alone behind its prefix a character costs a byte, among others a group too.
                cost = 1.0 if len(prefix.followers) == 1 else 3.0
                heapq.heappush(waiting, (-follower.chance / cost, waited, follower))


def _expand(texts: Texts, prefix: _Prefix, frequencies: _Frequencies, register: Register) -> None:
    low = prefix.low
    while low < prefix.high and texts.lengths[low] == prefix.depth:
        prefix.ends, low = True, low + 1
    codes = texts.codes[texts.starts[low : prefix.high] + prefix.depth]
    cuts = np.flatnonzero(np.diff(codes)) + 1
    bounds = [low, *(low + cuts).tolist(), prefix.high] if len(codes) else []
    allowed = _allowed(prefix.state, frequencies)
    for start, end in itertools.pairwise(bounds):
        code = int(codes[start - low])
        state = register.after(prefix.state, code)
        assert state is not None
        chance = prefix.chance * frequencies.of_one(code) / allowed
        prefix.followers.append((code, _Prefix(start, end, prefix.depth + 1, state, chance)))


def _allowed(state: State, frequencies: _Frequencies) -> float:
    """The chance that a random word goes on, or ends, as the structure says."""
    total = frequencies.end if state.final else 0.0
    for step in state.steps:
        total += frequencies.of_set(step.chars)
        if step.least == 0:
            total += _allowed(step.target, frequencies) - frequencies.end * state.final
    return total


def _automaton(order: list[_Prefix], told: int, register: Register) -> State:
    """The automaton in which the first `told` prefixes are told apart, the others merged."""
    states: dict[int, State] = {}
    for prefix in reversed(order[:told]):
        steps = []
        for code, follower in prefix.followers:
            is_told = follower.told is not None and follower.told < told
            target = states[id(follower)] if is_told else follower.state
            steps.append(Step(make_chars([code]), target))
        states[id(prefix)] = _joined(prefix, steps, register)
    return states[id(order[0])]


def _joined(prefix: _Prefix, steps: list[Step], register: Register) -> State:
    """The state behind a prefix; what a run may be followed by stays the state that it was.

    So `db7` and `db71`, each with `.net` behind it, share that: `7(1[0-9]*)?[.]net`.
    """
    (run, *others) = prefix.state.steps
    if not others and run.least == 0:
        inside = [step for step in steps if has(run.chars, step.chars[0][0])]
        outside = [step for step in steps if not has(run.chars, step.chars[0][0])]
        if inside and register.state(prefix.ends, outside) is run.target:
            return register.state(prefix.ends, [*inside, Step((), run.target, 0, 0)])
    return register.state(prefix.ends, steps)


def written_bytes(text: str) -> int:
    """Bytes of a text as JSON, which the tag is."""
    return len(text.encode()) + text.count("\\") + text.count('"')
