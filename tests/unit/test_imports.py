"""What may import what, where import-linter does not look: circles, tests and benchmarks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

REPO = Path(__file__).parents[2]
# Top-level names, as both find them on their path.
SHARED = {"support"}
OF_TESTS = {path.stem for path in (REPO / "tests").iterdir()} - SHARED
OF_BENCHMARKS = {path.stem for path in (REPO / "benchmarks").iterdir()}
# A name that both have is found in their own folder.
BOTH = OF_TESTS & OF_BENCHMARKS
# A class, as text or asked from py4j; settings begin with `spark.` and coordinates end here.
INTERNAL = re.compile(
    r"\.org\.apache\.spark\b|org\.apache\.spark\.\w+|(?<!hadoop\.)io\.delta\.\w+|antlr|univocity"
)


def module_of(path: Path) -> str:
    parts = path.relative_to(REPO / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def graph() -> dict[str, set[str]]:
    """What each module of src imports of the others, wherever in it, for types too."""
    files = {module_of(path): path for path in (REPO / "src").rglob("*.py")}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                of = [f"{node.module}.{name.name}" for name in node.names]
                names |= {one if one in files else node.module for one in of}
        found[module] = names & files.keys()
    return found


def test_internal_classes_are_named_in_the_lists() -> None:
    """What Spark and Delta do not promise stands in `internals`, and only what is asked for."""
    lists = [REPO / "src/alluvium" / folder / "internals.py" for folder in ("engine", "delta")]
    # Names that it compares with and never asks for: what it does not know is not kept.
    lists.append(REPO / "src/alluvium/plan/reuse.py")
    texts = {path: path.read_text() for path in (REPO / "src").rglob("*.py") if path not in lists}
    named = {path.name: found for path, text in texts.items() if (found := INTERNAL.findall(text))}
    assert named == {}
    asked = {word for text in texts.values() for word in re.findall(r"[A-Z][A-Z_]+", text)}
    listed = {word for path in lists for word in re.findall(r"(?m)^[A-Z][A-Z_]+", path.read_text())}
    assert len(listed) > 60
    assert listed <= asked


def test_no_circle_of_files() -> None:
    found = graph()
    assert "alluvium.delta.log.log" in found["alluvium.merge.progress"]
    TopologicalSorter(found).prepare()  # raises CycleError, which names the circle


def test_no_circle_of_packages() -> None:
    """Of the library; an adapter's `impl` stands above its verbs and in one folder with helpers."""
    packages: dict[str, set[str]] = {}
    every = {module_of(path) for path in (REPO / "src").rglob("__init__.py")}
    for module, names in graph().items():
        for name in names if module.startswith("alluvium.") else ():
            above, below = (
                one if one in every else one.rpartition(".")[0] for one in (module, name)
            )
            if above != below:
                packages.setdefault(above, set()).add(below)
    assert "alluvium.delta.log" in packages["alluvium.merge"]
    TopologicalSorter(packages).prepare()


@cache
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


def test_plans_start_without_spark() -> None:
    """What they import is imported; import-linter looks at our own imports alone."""
    plans = [module for module in graph() if module.startswith("alluvium.plan")]
    assert len(plans) > 20
    code = (
        f"import importlib, sys; [importlib.import_module(one) for one in {plans!r}];"
        " print(*{'pyspark', 'py4j', 'delta', 'dbt'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.split() == []
