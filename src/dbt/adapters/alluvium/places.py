"""Where in the user's files the SQL stands that Spark speaks of.

Spark counts the lines of the statement that it was given. A model's compiled SQL is a part of it,
and what the user wrote is what that was rendered from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Jinja of a text: what it prints, and what prints nothing by itself.
_JINJA = re.compile(r"(\{\{.*?\}\})|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_LONGEST = 160  # characters of a line that is shown


def place(node: Any, sql: str, line: int | None, root: Path) -> str:
    """Where the line of a statement stands: `models/orders.sql:3: a / b as c`.

    Args:
        node: that runs the statement; None where none does.
        sql: the statement.
        line: of the statement, from 1; None where it is not known. A hook is told all the same.
        root: folder of the node's project or package.

    Returns:
        File, line and text of what the user wrote, where that is known; else of the compiled SQL;
        else of the statement.
    """
    lines = sql.split("\n")
    texts = list(_texts(node, sql))
    if line is None:
        texts = [one for one in texts if one[0]]
        line = next((sql.count("\n", 0, sql.find(said)) + 1 for _, _, said in texts), 0)
    if not 0 < line <= len(lines):
        return ""
    here = short(lines[line - 1])
    for kind, raw, compiled in texts:
        within = _within(sql, compiled, line)
        if within is None:
            continue
        found = raw_line(raw, compiled, within)
        written = "" if found is None else raw.split("\n")[found]
        spot = _spot(node, raw, found, written, root) if found is not None else None
        if spot is not None:
            return f"{kind}{spot}: {short(written)}"
        if kind:
            return f"{kind}{node.original_file_path}: {here}"
        return f"{getattr(node, 'compiled_path', None) or 'compiled SQL'}:{within + 1}: {here}"
    return f"line {line} of the statement: {here}"


def _texts(node: Any, sql: str) -> Iterator[tuple[str, str, str]]:
    """What a statement may have been rendered from: its kind, as it was written and rendered."""
    config = getattr(node, "config", None)
    said = re.sub(r"^\s*/\*.*?\*/", "", sql, flags=re.DOTALL).strip()
    for kind in ("pre_hook", "post_hook"):
        for hook in getattr(config, kind, None) or ():
            text = str(getattr(hook, "sql", "")).strip()
            whole = _pattern("\n".join(_bare_lines(text)))
            if _says(whole) and whole.fullmatch(said):
                yield f"{kind.replace('_', '-')} in ", text, said
    compiled = str(getattr(node, "compiled_code", None) or "")
    if compiled.strip():
        yield "", str(node.raw_code), compiled


def _within(sql: str, compiled: str, line: int) -> int | None:
    """The line of the compiled text, from 0, that a line of the statement is; None outside."""
    start = sql.find(compiled.strip())
    if start < 0:
        return None
    # dbt and macros strip what is around the compiled SQL.
    leading = compiled.count("\n", 0, len(compiled) - len(compiled.lstrip()))
    within = line - 1 - sql.count("\n", 0, start)
    return within + leading if 0 <= within < len(compiled.strip().split("\n")) else None


def raw_line(raw: str, compiled: str, line: int) -> int | None:
    """The line of `raw` that a line of `compiled` was rendered from; None where it is not sure.

    Lines count from 0. Lines that match in one way only are sure. So is what lies between two of
    them if both texts have as many lines there.
    """
    rendered = compiled.split("\n")
    patterns = [_pattern(text) for text in _bare_lines(raw)]
    known: list[tuple[int, int]] = [(-1, -1)]
    for at, text in enumerate(rendered):
        ways = [n for n, one in enumerate(patterns) if _says(one) and one.fullmatch(text.strip())]
        if len(ways) == 1:
            known.append((at, ways[0]))
    known.append((len(rendered), len(patterns)))
    spot = bisect_right([at for at, _ in known], line)
    before, after = known[spot - 1], known[spot]
    if before[0] == line:
        return before[1]
    if after[0] - before[0] != after[1] - before[1]:
        return None
    found = before[1] + line - before[0]
    return found if patterns[found].fullmatch(rendered[line].strip()) else None


def _bare_lines(raw: str) -> list[str]:
    """The lines of a text, with each piece of Jinja as one sign on every line it stands on."""

    def signs(found: re.Match[str]) -> str:
        sign = "\0" if found[1] else ""
        return "\n".join(sign for _ in found[0].split("\n"))

    return _JINJA.sub(signs, raw).split("\n")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.strip().split("\0"))), re.DOTALL)


def _says(pattern: re.Pattern[str]) -> bool:
    """Whether a line has words of its own."""
    return bool(re.search(r"\w", pattern.pattern.replace(".*", "")))


def _spot(node: Any, raw: str, line: int, written: str, root: Path) -> str | None:
    """The file and line where a line of a text is written, if that is sure."""
    for name in _files(node):
        path = root / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if name.endswith((".yml", ".yaml")):
            text = text.replace("''", "'").replace('\\"', '"')  # as YAML writes quotes in quotes
        if text.count(raw.strip()) == 1:
            leading = raw.count("\n", 0, len(raw) - len(raw.lstrip()))
            first = text.count("\n", 0, text.index(raw.strip()))
            return f"{name}:{first - leading + line + 1}"
        lines = [number for number, one in enumerate(text.split("\n"), 1) if written.strip() in one]
        if len(lines) == 1:
            return f"{name}:{lines[0]}"
        if lines:
            return None
    return None


def _files(node: Any) -> Iterator[str]:
    """Where what a node runs may be written, the nearest first."""
    yield str(Path(node.original_file_path))
    if getattr(node, "patch_path", None):
        yield node.patch_path.split("://")[-1]
    yield "dbt_project.yml"


def short(text: str) -> str:
    """A line as it is shown, cut where it is long."""
    text = text.strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
