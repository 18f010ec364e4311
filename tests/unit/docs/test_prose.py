"""What `scripts/check-prose` finds in a page, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import prose
import pytest


def mistakes(text: str) -> list[tuple[int, str]]:
    page = prose.check(prose.REPO / "docs/a-page.md", text)
    return [(mistake.line, mistake.said) for mistake in page.mistakes]


def sentences(text: str) -> list[tuple[int, int]]:
    """The line and the number of words of each sentence."""
    page = prose.check(prose.REPO / "docs/a-page.md", text)
    return [(sentence.line, len(sentence.words)) for sentence in page.sentences]


LONG = "We say " + "so " * 24


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We go. They stay!\nAnd you?\nYes", [(1, 2), (1, 2), (2, 2), (3, 1)]),
        # Neither a colon nor a semicolon ends one; a block does.
        ("We see: this; that\n\nand more", [(1, 4), (3, 2)]),
        ("- one point\n- two\n  more. Three\n\n  # no prose", [(1, 2), (2, 2), (3, 1)]),
        ("> quoted. Twice", [(1, 1), (1, 1)]),
        # Code is one word, also over a line's end, and so is a name with dots.
        ("`a b. c` is `x\ny`. Then\nmore", [(1, 3), (2, 2)]),
        ("Spark 4.2.0 reads a.b.sql (e.g. 1.5 GB). Then", [(1, 7), (1, 1)]),
        ("Files, logs etc. are kept. So are tags etc. Others go.", [(1, 5), (1, 4), (1, 2)]),
        ("**Log.** (A bracket.) \"Why?\" dbt goes on.", [(1, 1), (1, 2), (1, 1), (1, 3)]),
        # A sign alone is not a word; a picture is not read.
        ("a → b — c ![a picture of it](../README.md)", [(1, 3)]),
        ("# Heading\n\n| a | table |\n|---|---|\n| b | c. D |\n\n```\ncode. Code.\n```\n", []),
    ],
)  # fmt: skip
def test_sentences(text: str, found: list[tuple[int, int]]) -> None:
    assert sentences(text) == found


def test_a_long_sentence() -> None:
    assert mistakes(LONG[:-4]) == []
    assert mistakes("Yes.\n" + LONG) == [(2, "a sentence of 26 words, not 25: We say so so so …")]
    because = "<!-- long sentence: the words of a law -->\n"
    assert mistakes(because + LONG + "\n") == []
    assert mistakes(because + "- " + LONG + "\n") == []
    # Of the block that follows alone, and with a reason.
    assert [line for line, _ in mistakes(because + "Yes.\n\n" + LONG)] == [4]
    assert [line for line, _ in mistakes("<!-- long sentence: -->\n" + LONG)] == [2]


def test_a_long_line() -> None:
    line = "yes. " * 24
    assert mistakes("#\n" + line + "\n") == []
    assert mistakes("#\n" + line + "x\n") == [(2, "a line of 121 characters, not 120")]
    table = f"| a |\n|---|\n| {line}x |\n"
    assert mistakes(f"{table}\n```\n{line}x\n```\n\n    {line}x\n") == []


def test_a_long_list() -> None:
    assert mistakes("1. point\n" * 7) == []
    assert mistakes("Points:\n\n" + "- point\n" * 8) == [(3, "8 points, not 7")]
    nested = "- point\n  - one\n  - two\n" * 3
    assert mistakes(nested) == []
    assert mistakes("<!-- long list: one for each month -->\n" + "- point\n" * 12) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A line,\nand a sort is no merge.", [(2, "is no")]),
        ("There is no merge, and there\nare no files. It is no longer `is no x`.", []),
        ("It\nlacks one. Black is lacking.", [(2, "lacking"), (2, "lacks")]),
        ("Anew,\nby and\nby. At last.", [(1, "Anew"), (2, "by and by"), (3, "At last")]),
        ("For ever.", [(1, "For ever")]),
        ("Files and such as these.", [(1, "and such as")]),
    ],
)
def test_words(text: str, found: list[tuple[int, str]]) -> None:
    assert [(line, said.split("”")[0][1:]) for line, said in mistakes(text)] == found


def test_reading_ease() -> None:
    """By hand: 206.835 - 1.015 x words a sentence - 84.6 x syllables a word."""
    page = prose.check(Path("x.md"), "The table has rows. `x` is a merged table of 5 columns.")
    spoken = [1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2]
    words = [word for sentence in page.sentences for word in sentence.words]
    assert [prose.syllables(word) for word in words] == spoken
    assert page.ease == pytest.approx(206.835 - 1.015 * 12 / 2 - 84.6 * sum(spoken) / 12)
    hard = "Internationalization undermines multidimensional characterization."
    ((line, said),) = mistakes(hard)
    assert (line, said[:18]) == (1, "a reading ease of ")


def test_links(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text(
        "# What `run()` *does*, and why\n## Twice\n## Twice\n<a id='here'></a>\n\n## `a_b` + c/d\n"
    )
    right = ["b.md", "b.md#what-run-does-and-why", "b.md#twice", "b.md#twice-1", "b.md#here"]
    right += ["b.md#a_b--cd", "#of-this", "https://example.org/x#y", "mailto:a@b.org", "."]
    wrong = ["c.md", "b.md#twice-2", "#of-that", "b.md#What-run-does-and-why"]
    page = tmp_path / "a.md"
    page.write_text("# Of this\nText\n" + "".join(f"[a]({link}).\n" for link in right + wrong))
    assert [(mistake.line, mistake.said) for mistake in prose.check(page).mistakes] == [
        (13, "a link to c.md, which is not there"),
        (14, "a link to #twice-2, which b.md does not have"),
        (15, "a link to #of-that, which a.md does not have"),
        (16, "a link to #What-run-does-and-why, which b.md does not have"),
    ]
    page.write_text("| a |\n|---|\n| [x](b.md#no) |\n\n<img src='no.svg'>\n\n## [y](no.md)\n")
    assert [mistake.line for mistake in prose.check(page).mistakes] == [3, 5, 7]


def test_a_page_of_mistakes_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "a.md"
    page.write_text("It is anew.\n")
    assert prose.main([str(page)]) == 1
    assert capsys.readouterr().out == f'{page}:1: “anew”: say "again"\n'
    page.write_text("It is new.\n")
    assert prose.main([str(page)]) == 0
    assert prose.main(["--report", str(page)]) == 0
    assert capsys.readouterr().out.split() == ["3", "3", "119.2", "0", str(page)]
