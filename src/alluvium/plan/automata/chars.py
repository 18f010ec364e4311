"""Sets of characters: sorted ranges of Unicode code points, and how both engines write them.

What is written means the same to `java.util.regex` without flags and to Python's `re`. Both match
code points, so a character beyond 16 bits is one (in Java too, where a text has two units for it).
No name of a class is used: `\\d` and `\\w` are ASCII in Java and Unicode in Python.
"""

from collections.abc import Iterable

Chars = tuple[tuple[int, int], ...]

ANY: Chars = ((0, 0x10FFFF),)
_SURROGATES = (0xD800, 0xDFFF)
# Signs that mean something inside a class or out of it, to either engine. `[` begins a class within
# a class in Java, `&&` an intersection, and Python warns of `--`, `||` and `~~`.
_IN_CLASS = frozenset(r"\[]^-&|~")
_OUTSIDE = frozenset(r"\[]^$.|?*+(){}")


def make_chars(codes: Iterable[int]) -> Chars:
    """The set of the code points, which are sorted and distinct."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return tuple(ranges)


def union(*sets: Chars) -> Chars:
    """The characters that are in any of the sets."""
    if len(sets) == 1:
        return sets[0]
    joined: list[tuple[int, int]] = []
    for low, high in sorted(part for chars in sets for part in chars):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def has(chars: Chars, code: int) -> bool:
    """Whether the character is in the set."""
    return any(low <= code <= high for low, high in chars)


def size(chars: Chars) -> int:
    """How many characters the set has; a surrogate is none, for UTF-8 has no such."""
    first, last = _SURROGATES
    return sum(
        high - low + 1 - max(0, min(high, last) - max(low, first) + 1) for low, high in chars
    )


def write(chars: Chars) -> str:
    """The set as a regular expression that takes one character; ANY is the caller's."""
    if len(chars) == 1 and chars[0][0] == chars[0][1]:
        return literal(chars[0][0])
    return "[" + "".join(_range(low, high) for low, high in chars) + "]"


def literal(code: int) -> str:
    """One character as a regular expression."""
    sign = chr(code)
    if sign in _OUTSIDE:
        # In JSON, where the expression is kept, a backslash is two.
        return "\\" + sign if sign in _IN_CLASS else f"[{sign}]"
    return _plain(code)


def _range(low: int, high: int) -> str:
    if high - low < 2:
        return "".join(_in_class(code) for code in range(low, high + 1))
    return f"{_in_class(low)}-{_in_class(high)}"


def _in_class(code: int) -> str:
    return "\\" + chr(code) if chr(code) in _IN_CLASS else _plain(code)


def _plain(code: int) -> str:
    # Control characters are not left to either engine's reading of raw ones.
    return f"\\x{code:02x}" if code < 32 or code == 127 else chr(code)
