"""Reading an index's expression again: the part of both engines' language that `expression` writes.

A regular expression alone cannot say in Python which words are accepted, and whether a word with a
given prefix is among them. This can. Anything else in a text is refused, so that a damaged one is
noticed.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from alluvium.plan.automata.chars import ANY, Chars, has, size
from alluvium.plan.automata.expression import NOTHING

_COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}|[*+?]")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_DEEPEST = 200


class UnreadError(ValueError):
    """A text is not an expression that an index may have."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Some characters of a set."""

    chars: Chars
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several sequences."""

    ways: list[list["Repeat | Choice"]] = field(default_factory=list)


def read(text: str) -> Choice:
    """The structure of an expression.

    Raises:
        UnreadError: it is not one that `expression` writes.
    """
    if text == NOTHING:
        return Choice()
    if not (text.startswith("^") and text.endswith("$") and len(text) > 1):
        raise UnreadError(f"{text!r} is not an anchored expression")
    reader = _Reader(text[:-1], 1)
    found = reader.choice(0)
    if reader.place != len(reader.text):
        raise UnreadError(f"{text!r} has {text[reader.place]!r} where it should end")
    return found


def goes_on(root: Choice, prefix: str) -> bool:
    """Whether any word begins with the prefix."""
    reached, touched = _ends(root, prefix, {0})
    return touched or len(prefix) in reached


def words(root: Choice, most: int) -> list[str] | None:
    """All words; None if there are more than so many."""
    return list(_all(root)) if _count(root, most) <= most else None


def _ends(node: Repeat | Choice, text: str, places: set[int]) -> tuple[set[int], bool]:
    """Where the node can end if it begins at one of the places; whether it asked beyond the end."""
    if isinstance(node, Repeat):
        return _repeat_ends(node, text, places)
    reached: set[int] = set()
    touched = False
    for way in node.ways:
        here = places
        for part in way:
            here, beyond = _ends(part, text, here)
            touched = touched or beyond
        reached |= here
    return reached, touched


def _repeat_ends(node: Repeat, text: str, places: set[int]) -> tuple[set[int], bool]:
    reached: set[int] = set()
    touched = False
    for place in places:
        taken = 0
        while node.most is None or taken < node.most:
            if taken >= node.least:
                reached.add(place)
            if place == len(text):
                touched = True
                break
            if not has(node.chars, ord(text[place])):
                break
            place, taken = place + 1, taken + 1
        else:
            reached.add(place)
    return reached, touched


def _count(node: Repeat | Choice, most: int) -> int:
    """How many words, or some number above `most`."""
    if isinstance(node, Repeat):
        if node.most is None or (size(node.chars) > 1 and node.most > 64):
            return most + 1
        several = size(node.chars)
        return sum(several**length for length in range(node.least, node.most + 1))
    total = 0
    for way in node.ways:
        product = 1
        for part in way:
            product *= _count(part, most)
        total += product
    return total


def _all(node: Repeat | Choice) -> Iterator[str]:
    if isinstance(node, Choice):
        for way in node.ways:
            for parts in itertools.product(*(list(_all(part)) for part in way)):
                yield "".join(parts)
        return
    signs = [chr(code) for low, high in node.chars for code in range(low, high + 1)]
    for length in range(node.least, (node.most or 0) + 1):
        for chosen in itertools.product(signs, repeat=length):
            yield "".join(chosen)


class _Reader:
    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place

    def choice(self, depth: int) -> Choice:
        if depth > _DEEPEST:
            raise UnreadError(f"groups of {self.text!r} are nested too deep")
        found = Choice([[]])
        while self.place < len(self.text) and self.peek() != ")":
            if self.peek() == "|":
                self.place += 1
                found.ways.append([])
            else:
                found.ways[-1].append(self.part(depth))
        return found

    def part(self, depth: int) -> Repeat | Choice:
        if self.text.startswith("(?s:.", self.place):
            self.place += len("(?s:.")
            repeat = self.counted(ANY)
            self.expect(")")
            return repeat
        if self.peek() == "(":
            self.place += 1
            inner = self.choice(depth + 1)
            self.expect(")")
            if self.place < len(self.text) and self.peek() == "?":
                self.place += 1
                inner.ways.append([])
            return inner
        if self.peek() == "[":
            self.place += 1
            return self.counted(self.ranges())
        if self.peek() in "^$.|?*+{}":
            raise UnreadError(f"{self.text!r} has an unexpected {self.peek()!r}")
        code = self.sign()
        return self.counted(((code, code),))

    def ranges(self) -> Chars:
        found: list[tuple[int, int]] = []
        while self.peek() != "]":
            low = high = self.sign()
            if self.peek() == "-":
                self.place += 1
                high = self.sign()
            if high < low:
                raise UnreadError(f"{self.text!r} has a range that falls")
            found.append((low, high))
        self.place += 1
        if not found:
            raise UnreadError(f"{self.text!r} has an empty class")
        return tuple(found)

    def sign(self) -> int:
        sign = self.peek()
        self.place += 1
        if sign != "\\":
            return ord(sign)
        sign = self.peek()
        self.place += 1
        if sign != "x":
            if sign.isalnum():
                raise UnreadError(f"{self.text!r} has an unexpected \\{sign}")
            return ord(sign)
        digits = self.text[self.place : self.place + 2]
        self.place += 2
        if not re.fullmatch("[0-9a-f]{2}", digits):
            raise UnreadError(f"{self.text!r} has an unexpected \\x{digits}")
        return int(digits, 16)

    def counted(self, chars: Chars) -> Repeat:
        match = _COUNT.match(self.text, self.place)
        if match is None:
            return Repeat(chars)
        self.place = match.end()
        if match[0] in _SIGNS:
            return Repeat(chars, *_SIGNS[match[0]])
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        return Repeat(chars, least, most)

    def peek(self) -> str:
        if self.place >= len(self.text):
            raise UnreadError(f"{self.text!r} ends too early")
        return self.text[self.place]

    def expect(self, sign: str) -> None:
        if self.peek() != sign:
            raise UnreadError(f"{self.text!r} has no {sign!r} at {self.place}")
        self.place += 1
