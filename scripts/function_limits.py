"""Functions of src and scripts that are too long, or decide too much.

    scripts/check-functions

A function has at most 60 lines without its docstring. Its cyclomatic complexity is at most 20, as
radon counts it: the next one has its grade D.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINES, COMPLEXITY = 60, 20

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(function: _Function) -> int:
    """Lines of a function without its docstring."""
    assert function.end_lineno is not None
    found = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        assert docstring.end_lineno is not None
        found -= docstring.end_lineno - docstring.lineno + 1
    return found


def complexity(function: _Function) -> int:
    """One, and one for each way that it may part; a function inside it counts for itself."""
    return 1 + sum(map(_ways, function.body))


def _ways(node: ast.AST) -> int:
    if isinstance(node, _Function):
        return 0
    if isinstance(node, ast.Assert):
        return 1  # whatever it asks
    return _own_ways(node) + sum(map(_ways, ast.iter_child_nodes(node)))


def _own_ways(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp():
            return 1
        case ast.match_case():
            return not isinstance(node.pattern, ast.MatchAs)
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case _:
            return 0


def mistakes() -> Iterator[str]:
    """A line for each function that is over a limit."""
    for path in sorted((*ROOT.glob("src/**/*.py"), *ROOT.glob("scripts/*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, _Function):
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
            if (found := lines(node)) > LINES:
                yield f"{place} has {found} lines without its docstring; accepted: {LINES}"
            if (found := complexity(node)) > COMPLEXITY:
                yield f"{place} has complexity {found}; accepted: {COMPLEXITY}"


def main() -> int:
    found = list(mistakes())
    print("\n".join(found) or "no function is too long, or decides too much")
    return int(bool(found))
