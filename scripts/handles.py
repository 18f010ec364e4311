"""Counts what reaches into the JVM where it need not.

    scripts/count-handles [--files]

- Files of src outside `delta` and `engine` that touch an attribute of py4j, or take a handle: call
  a function of `delta.log.log` or `engine.jvm` whose result is annotated as bare `Any`, or with a
  class of `delta.handles` or `engine.handles`.
- Parameters and results in `delta` that are annotated as bare `Any`.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "src"
MAY = (SRC / "alluvium/delta", SRC / "alluvium/engine")
GIVERS = ("alluvium.delta.log.log", "alluvium.engine.jvm")
# Of these packages none is to reach into it.
NONE = tuple(SRC / "alluvium" / name for name in ("versions", "publish", "recovery", "report"))
# The attributes of pyspark's objects that are objects of the JVM, or lead to them.
PY4J = {"_gateway", "_jc", "_jconf", "_jdf", "_jrdd", "_jsc", "_jschema", "_jsparkSession", "_jvm"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def handles(text: str) -> set[str]:
    """The names of what a file touches or takes."""
    tree = ast.parse(text)
    modules, names = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                if (module := f"{node.module}.{one.name}") in GIVERS:
                    modules[one.asname or one.name] = module
                elif node.module in GIVERS and one.name in _givers(node.module):
                    names.add(one.asname or one.name)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            of = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if node.attr in PY4J or (of is not None and node.attr in _givers(of)):
                found.add(node.attr)
    return found


@cache
def _givers(module: str) -> set[str]:
    """The functions of a module that give a handle."""
    path = SRC / f"{module.replace('.', '/')}.py"
    tree = ast.parse(path.read_text())
    return {one.name for one in tree.body if isinstance(one, _Function) and _is_handle(one.returns)}


def _is_handle(annotation: ast.expr | None) -> bool:
    """Whether a result is bare `Any`, or an object of the JVM or None."""
    named = {
        one.id for one in ast.walk(annotation or ast.Constant(None)) if isinstance(one, ast.Name)
    }
    return _is_any(annotation) or (bool(named) and named <= _kinds())


@cache
def _kinds() -> set[str]:
    """The names of the classes of handles."""
    trees = (ast.parse((one / "handles.py").read_text()) for one in MAY)
    return {one.name for tree in trees for one in tree.body if isinstance(one, ast.ClassDef)}


def anys(text: str) -> int:
    """Parameters and results of a file that are annotated as bare `Any`."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _Function):
            given = node.args
            every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
            found += sum(_is_any(one.annotation) for one in every if one) + _is_any(node.returns)
    return found


def _is_any(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def files() -> Iterator[tuple[Path, set[str]]]:
    """The files outside `delta` and `engine` that reach into the JVM, and by what."""
    for path in sorted(SRC.rglob("*.py")):
        if not any(path.is_relative_to(one) for one in MAY) and (by := handles(path.read_text())):
            yield path, by


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/count-handles")
    parser.add_argument("--files", action="store_true", help="each file too")
    asked = parser.parse_args(args)
    found = dict(files())
    in_none = sum(any(path.is_relative_to(one) for one in NONE) for path in found)
    in_delta = [(path, anys(path.read_text())) for path in sorted(MAY[0].rglob("*.py"))]
    if asked.files:
        for path, by in found.items():
            print(f"       {path.relative_to(SRC)}: {', '.join(sorted(by))}")
        for path, number in in_delta:
            if number:
                print(f"{number:6,} {path.relative_to(SRC)}")
    print(f"{len(found):6,} files outside delta and engine reach into the JVM")
    print(f"{in_none:6,} of them in {', '.join(one.name for one in NONE)}")
    print(f"{sum(number for _, number in in_delta):6,} bare Any of parameters and results in delta")
    return 0
