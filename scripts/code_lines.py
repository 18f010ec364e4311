"""Counts lines of code: Python, Jinja and Java in src and macros.

    scripts/count-code [--files]

Blank lines, comments and docstrings are no code. Left out are `src/alluvium/demo`, which the wheel
leaves out too, and files that `make reference` writes: their first line says GENERATED.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "macros")
LEFT_OUT = REPO / "src/alluvium/demo"
GENERATED = "written by `make reference`"

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_OF_JINJA = re.compile(r"\{#.*?#\}", re.DOTALL)
# A text first: what looks like a comment inside one is none.
_OF_JAVA = re.compile(
    r'("""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/',
    re.DOTALL,
)


def python(text: str) -> int:
    """Lines of code of a Python file."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            found.difference_update(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    return len(found)


def jinja(text: str) -> int:
    """Lines of code of a Jinja file: Jinja and SQL, without the comments of either."""
    return _filled(_OF_JINJA.sub(_without_text, text), comment="--")


def java(text: str) -> int:
    """Lines of code of a Java file."""
    return _filled(_OF_JAVA.sub(lambda found: found[1] or _without_text(found), text))


def _without_text(found: re.Match[str]) -> str:
    """The ends of lines of a comment alone: the code before it and behind it stays where it is."""
    return "\n" * found[0].count("\n")


def _filled(text: str, comment: str | None = None) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not (comment and line.startswith(comment)))


LANGUAGES = {".py": python, ".sql": jinja, ".java": java}


def counts() -> Iterator[tuple[Path, int]]:
    """Each file that counts, below the repository, with its lines of code."""
    for folder in FOLDERS:
        for path in sorted((REPO / folder).rglob("*")):
            if path.suffix in LANGUAGES and not path.is_relative_to(LEFT_OUT):
                text = path.read_text()
                if GENERATED not in text.partition("\n")[0]:
                    yield path.relative_to(REPO), LANGUAGES[path.suffix](text)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/count-code")
    parser.add_argument("--files", action="store_true", help="each file too")
    asked = parser.parse_args(args)
    sums = dict.fromkeys(LANGUAGES, 0)
    for path, lines in counts():
        sums[path.suffix] += lines
        if asked.files:
            print(f"{lines:6,} {path}")
    for suffix, name in ((".py", "Python"), (".sql", "Jinja"), (".java", "Java")):
        print(f"{sums[suffix]:6,} {name}")
    print(f"{sum(sums.values()):6,} lines of code")
    return 0
