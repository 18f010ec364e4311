"""What may import what, where import-linter does not look: tests and benchmarks."""

from __future__ import annotations

import ast
from pathlib import Path

REPO = Path(__file__).parents[2]
# Top-level names, as both find them on their path.
SHARED = {"support"}
OF_TESTS = {path.stem for path in (REPO / "tests").iterdir()} - SHARED
OF_BENCHMARKS = {path.stem for path in (REPO / "benchmarks").iterdir()}
# A name that both have is found in their own folder.
BOTH = OF_TESTS & OF_BENCHMARKS


def imported(path: Path) -> set[str]:
    """The first parts of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def clashes(folder: Path, others: set[str]) -> list[str]:
    """Files of the folder that import one of `others`."""
    files = sorted(folder.rglob("*.py"))
    assert files
    return [str(path.relative_to(REPO)) for path in files if imported(path) & others]


def test_benchmarks_import_no_tests() -> None:
    assert {"functional", "unit", "oracle"} <= OF_TESTS
    assert clashes(REPO / "benchmarks", OF_TESTS - BOTH) == []


def test_tests_import_no_benchmarks() -> None:
    """But the tests of benchmarks do."""
    assert {"compacting", "merging", "chaos_merge"} <= OF_BENCHMARKS
    found = clashes(REPO / "tests", OF_BENCHMARKS - BOTH)
    allowed = "tests/unit/benchmarks/"
    assert [path for path in found if not path.startswith(allowed)] == []
    assert any(path.startswith(allowed) for path in found)


def test_what_they_share_imports_neither() -> None:
    assert clashes(REPO / "tests/support", OF_TESTS | OF_BENCHMARKS) == []
