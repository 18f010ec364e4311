"""Checks the prose of Markdown pages: paragraphs and points of lists; no code, table or heading.

    scripts/check-prose [--report] [PAGES…]

Without pages: those of PAGES. The rules:

- A line has at most 120 characters.
- A sentence has at most 25 words. It ends with its block, or with `.`, `!` or `?` before a space;
  a colon and a semicolon do not end it. Inline code is one word.
- A list has at most seven points.
- No word of scripts/prose-words.txt.
- Flesch's reading ease of the page is 45 or more. Syllables are counted by the hyphenation of
  pyphen. That sees fewer of them than a dictionary of sounds, which gives about five points less.
  Inline code counts as a word of one syllable, and so does a number.
- Relative links lead to a file that is there, and their anchors to a heading of it (GitHub's rule).

A comment directly before a paragraph or a list gives a reason for more:
`<!-- long sentence: … -->`, `<!-- long list: … -->`.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pyphen
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

REPO = Path(__file__).resolve().parents[1]
PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("docs/*.md", "docs/decisions/*.md", "docs/reference/*.md"),
)
WORDS = REPO / "scripts/prose-words.txt"
LONGEST_LINE, LONGEST_SENTENCE, LONGEST_LIST, EASIEST = 120, 25, 7, 45.0

CODE = "\ue000"  # stands for a piece of inline code
NOT_ENDS = ("e.g.", "i.e.", "cf.", "vs.", "resp.", "approx.", "incl.", "fig.")
END = re.compile(r"[.!?][\"'”)\]]*(?=\s)")
REASON = re.compile(r"<!--\s*long (sentence|list):\s*\S.*?-->\s*", re.S)
LINK_OF_HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=[\"']([^\"']+)")
ANCHOR_OF_HTML = re.compile(r"<\w+\b[^>]*?\b(?:id|name)=[\"']([^\"']+)")

markdown = MarkdownIt("commonmark").enable("table")
hyphens = pyphen.Pyphen(lang="en_US")


@dataclass(frozen=True, order=True)
class Mistake:
    line: int
    said: str


@dataclass
class Sentence:
    text: str
    line: int
    may_be_long: bool = False

    @property
    def words(self) -> list[str]:
        return [word for word in self.text.split() if any(c.isalnum() or c == CODE for c in word)]


@dataclass
class Page:
    mistakes: list[Mistake] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)

    def found(self, line: int, said: str) -> None:
        self.mistakes.append(Mistake(line, said))

    @property
    def words(self) -> int:
        return sum(len(sentence.words) for sentence in self.sentences)

    @property
    def longest(self) -> int:
        return max((len(sentence.words) for sentence in self.sentences), default=0)

    @property
    def ease(self) -> float:
        """Flesch's reading ease; a page without a sentence is easy."""
        if not self.words:
            return 100.0
        spoken = sum(syllables(word) for sentence in self.sentences for word in sentence.words)
        return 206.835 - 1.015 * self.words / len(self.sentences) - 84.6 * spoken / self.words


@cache
def syllables(word: str) -> int:
    """Those of each part of a word; code and numbers are one."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"['\u2019]", "", word))
    if CODE in word or not parts:
        return 1
    return sum(len(hyphens.positions(part)) + 1 for part in parts)


def sentences(text: str, line: int) -> Iterator[Sentence]:
    """The sentences of a block that begins in this line; lines are those of the page."""
    begin = 0
    for end in [*(match.end() for match in END.finditer(text)), len(text)]:
        piece = text[begin:end]
        last = piece.split()[-1].lower().lstrip("([\"'“") if piece.split() else ""
        goes_on = text[end:].lstrip()[:1].islower() and last in ("etc.", "no.")
        if end < len(text) and (last in NOT_ENDS or goes_on):
            continue
        lead = len(piece) - len(piece.lstrip())
        one = Sentence(piece.strip(), line + text.count("\n", 0, begin + lead))
        if one.words:
            yield one
        begin = end


def text_of(inline: SyntaxTreeNode) -> str:
    """What is read of a block: without markup, code as one sign, lines as in the page."""
    at = 0

    def read(node: SyntaxTreeNode) -> str:
        nonlocal at
        if node.type in ("softbreak", "hardbreak"):
            return "\n"
        if node.type in ("text", "text_special"):
            return node.content
        if node.type == "code_inline":
            begin = inline.content.find(node.markup, at)
            at = inline.content.find(node.markup, begin + len(node.markup)) + len(node.markup)
            return CODE + "\n" * inline.content.count("\n", begin, at)
        return "" if node.type == "image" else "".join(map(read, node.children))

    return read(inline)


def first_line(node: SyntaxTreeNode) -> int:
    while not node.map and node.parent and not node.parent.is_root:
        node = node.parent
    return node.map[0] + 1 if node.map else 1


def check_blocks(page: Page, blocks: Iterable[SyntaxTreeNode], is_excused: bool = False) -> None:
    """Lists and sentences of these blocks and of what is in them."""
    reasons: set[str] = set()
    for block in blocks:
        may_be_long = is_excused or "sentence" in reasons
        if block.type == "paragraph":
            for sentence in sentences(text_of(block.children[0]), first_line(block)):
                sentence.may_be_long = may_be_long
                page.sentences.append(sentence)
        elif block.type in ("bullet_list", "ordered_list"):
            points = len(block.children)
            if points > LONGEST_LIST and "list" not in reasons:
                page.found(first_line(block), f"{points} points, not {LONGEST_LIST}")
        if block.type in ("bullet_list", "ordered_list", "list_item", "blockquote"):
            check_blocks(page, block.children, may_be_long)
        is_comment = block.type == "html_block"
        reasons = {found[1] for found in REASON.finditer(block.content)} if is_comment else set()


def check_sentences(page: Page) -> None:
    rules = [
        line.split("\t")
        for line in WORDS.read_text().splitlines()
        if line and not line.startswith("#")
    ]
    for sentence in page.sentences:
        words = sentence.words
        if len(words) > LONGEST_SENTENCE and not sentence.may_be_long:
            begin = " ".join(words[:5]).replace(CODE, "`…`")
            said = f"a sentence of {len(words)} words, not {LONGEST_SENTENCE}: {begin} …"
            page.found(sentence.line, said)
        for pattern, instead in rules:
            for found in re.finditer(pattern, sentence.text.replace("\n", " "), re.I):
                line = sentence.line + sentence.text.count("\n", 0, found.start())
                page.found(line, f"“{found[0].strip()}”: {instead}")


def check_lines(page: Page, tree: SyntaxTreeNode, lines: list[str]) -> None:
    free = {
        number
        for node in tree.walk()
        if node.type in ("fence", "code_block", "table", "html_block") and node.map
        for number in range(*node.map)
    }
    for number, line in enumerate(lines):
        if len(line) > LONGEST_LINE and number not in free:
            page.found(number + 1, f"a line of {len(line)} characters, not {LONGEST_LINE}")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    tree, seen, found = tree_of(path.read_text()), Counter[str](), set[str]()
    for node in tree.walk():
        if node.type == "heading":
            parts = (part for part in node.walk() if part.type in ("text", "code_inline"))
            name = slug("".join(part.content for part in parts))
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
        elif node.type in ("html_block", "html_inline"):
            found.update(ANCHOR_OF_HTML.findall(node.content))
    return frozenset(found)


def links(tree: SyntaxTreeNode) -> Iterator[tuple[int, str]]:
    """Where each link of a page is, and where it leads to."""
    for block in tree.walk():
        if block.type not in ("html_block", "inline"):
            continue
        line = first_line(block)
        for node in block.walk():
            if node.type in ("html_block", "html_inline"):
                yield from ((line, link) for link in LINK_OF_HTML.findall(node.content))
            elif link := node.attrs.get("href") or node.attrs.get("src"):
                before = block.content.partition(f"]({link}")[0]
                yield line + (before != block.content) * before.count("\n"), str(link)


def check_links(page: Page, tree: SyntaxTreeNode, path: Path) -> None:
    for line, link in links(tree):
        if re.match(r"[a-z][a-z0-9+.-]*:|//", link, re.I):
            continue
        file, _, anchor = unquote(link).partition("#")
        place = (path.parent / file).resolve() if file else path
        if not place.exists():
            page.found(line, f"a link to {file}, which is not there")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            page.found(line, f"a link to #{anchor}, which {place.name} does not have")


def tree_of(text: str) -> SyntaxTreeNode:
    return SyntaxTreeNode(markdown.parse(text))


def check(path: Path, text: str | None = None) -> Page:
    """What is wrong with a page, and its sentences."""
    text = path.read_text() if text is None else text
    page, tree = Page(), tree_of(text)
    check_links(page, tree, path)
    check_lines(page, tree, text.splitlines())
    check_blocks(page, tree.children)
    check_sentences(page)
    if page.ease < EASIEST:
        page.found(1, f"a reading ease of {page.ease:.1f}, not {EASIEST:.0f}")
    page.mistakes.sort()
    return page


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check-prose", description="Check the prose of pages.")
    parser.add_argument("--report", action="store_true", help="show the figures of each page")
    parser.add_argument("pages", nargs="*", type=Path, help="all, where none is named")
    asked = parser.parse_args(arguments)
    named = [path.resolve() for path in asked.pages]
    paths = named or [path for pattern in PAGES for path in sorted(REPO.glob(pattern))]
    is_clean = True
    for path in paths:
        page = check(path)
        name = path.relative_to(REPO) if path.is_relative_to(REPO) else path
        if asked.report:
            figures = f"{page.words:6,} {page.longest:8} {page.ease:7.1f} {len(page.mistakes):9}"
            print(f"{figures}  {name}")
        else:
            for mistake in page.mistakes:
                print(f"{name}:{mistake.line}: {mistake.said}")
        is_clean = is_clean and not page.mistakes
    return 0 if is_clean else 1
