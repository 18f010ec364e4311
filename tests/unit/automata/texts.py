"""Values of columns for the tests: any Unicode, and what machines write."""

import random
import string

from hypothesis import strategies as st

# All of Unicode but surrogates, which UTF-8 has none of; signs of regular expressions more often.
CHARACTERS = st.one_of(
    st.sampled_from("ab01\n\r\t\x00\x85\u2028\\^$.|?*+()[]{}-&~#\" '\U0001f600\uffff"),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.text(CHARACTERS, max_size=12)
COLUMNS = st.lists(st.none() | TEXTS, max_size=40)
# Few characters, so that values share prefixes and ends, and many words are near a value.
CLOSE = st.lists(st.text("ab1-", max_size=6), max_size=30)


def pods(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [
        f"pod-{draw.randrange(10_000):04d}-{''.join(draw.choices(string.ascii_lowercase, k=5))}"
        for _ in range(count)
    ]


def uuids(count: int) -> list[str]:
    draw = random.Random(2)
    return [
        f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
        for h in (f"{draw.getrandbits(128):032x}" for _ in range(count))
    ]


def hosts(count: int) -> list[str]:
    draw = random.Random(3)
    return [
        f"{draw.choice(['web', 'db', 'cache'])}{draw.randrange(500)}.eu-{draw.randrange(3)}.net"
        for _ in range(count)
    ]


def names(count: int) -> list[str]:
    draw = random.Random(4)
    signs = string.ascii_letters + " éßчж中😀'"
    return ["".join(draw.choices(signs, k=draw.randrange(1, 20))) for _ in range(count)]
