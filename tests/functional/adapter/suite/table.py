"""The table of docs/adapter-suite.md: every skip and every override, with its reason.

`PYTHONPATH=tests python -m functional.adapter.suite.table` writes it anew.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import dbt.tests.adapter
from _pytest.fixtures import FixtureFunctionDefinition

HERE = Path(__file__).parent
PAGE = HERE.parents[3] / "docs" / "adapter-suite.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"

# Classes for an object or a language that Spark does not have: they are not subclassed.
NOT_COLLECTED = {
    "functions.test_js_udfs.": "Spark has no functions in JavaScript",
    "functions.test_udafs.": "Spark has no CREATE AGGREGATE FUNCTION in SQL or Python",
    "functions.test_udfs.PythonUDF": "Spark keeps no Python functions in its catalog: they belong"
    " to a session (PythonUDFNotSupported, which expects that, passes)",
    "materialized_view.": "Spark has no materialized views outside of its pipelines",
    "utils.base_": "the base of the classes in its folder",
    "utils.data_types.base_": "the base of the classes in its folder",
}


def tests_of(cls: type) -> list[str]:
    return [
        name
        for name, value in inspect.getmembers(cls, inspect.isfunction)
        if name.startswith("test_")
    ]


def suite_classes() -> Iterator[type]:
    """The classes of dbt's suite that hold tests; those that only name one for PostgreSQL aside."""
    root = Path(next(iter(dbt.tests.adapter.__path__)))
    for path in sorted(root.rglob("*.py")):
        name = ".".join(("dbt", "tests", "adapter", *path.relative_to(root).with_suffix("").parts))
        for cls in vars(importlib.import_module(name)).values():
            if inspect.isclass(cls) and cls.__module__ == name and tests_of(cls):
                only_names = (
                    cls.__name__.startswith("Test")
                    and len(cls.__bases__) == 1
                    and cls.__bases__[0] is not object
                    and not own_names(cls)
                )
                if not only_names and not cls.__name__.startswith("_"):
                    yield cls


def our_classes() -> Iterator[type]:
    for path in sorted(HERE.glob("test_suite_*.py")):
        module = importlib.import_module(f"functional.adapter.suite.{path.stem}")
        for name, cls in vars(module).items():
            if (
                name.startswith("Test")
                and inspect.isclass(cls)
                and cls.__module__ == module.__name__
            ):
                yield cls


def suite_name(cls: type) -> str:
    return f"{cls.__module__.removeprefix('dbt.tests.adapter.')}.{cls.__name__}"


def own_names(cls: type) -> list[str]:
    """What a class adds or replaces, but for its marks."""
    own = (name for name in vars(cls) if not name.startswith("__"))
    return sorted(name for name in own if name not in ("pytestmark", "skipped"))


def base_of(cls: type) -> type:
    return next(b for b in cls.__mro__ if b.__module__.startswith("dbt.tests.adapter."))


def _ours(cls: type) -> list[type]:
    return [c for c in cls.__mro__ if c.__module__.startswith("functional.adapter.")]


def overrides(cls: type) -> dict[str, str]:
    """Names that our class replaces, and why: the docstring of the class that replaces them."""
    return {
        name: inspect.getdoc(owner) or "" if "__doc__" in vars(owner) else ""
        for owner in _ours(cls)
        for name in own_names(owner)
        if hasattr(base_of(cls), name) or isinstance(vars(owner)[name], FixtureFunctionDefinition)
    }


def skips(cls: type) -> dict[str, str]:
    """Tests that do not run ('all' for the whole class), and why."""
    marks = [m for m in vars(cls).get("pytestmark", []) if m.name == "skip"]
    if marks:
        return {"all": marks[0].kwargs["reason"]}
    return dict(getattr(cls, "skipped", {}))


def reason_not_collected(cls: type) -> str | None:
    name = suite_name(cls)
    return next((r for start, r in NOT_COLLECTED.items() if name.startswith(start)), None)


def rows() -> list[tuple[str, str, str]]:
    found = []
    for cls in our_classes():
        name = suite_name(base_of(cls))
        for test, reason in skips(cls).items():
            found.append((name, "skipped" if test == "all" else f"skipped: `{test}`", reason))
        replaced = overrides(cls)
        for reason in dict.fromkeys(replaced.values()):
            names = ", ".join(f"`{n}`" for n, r in replaced.items() if r == reason)
            found.append((name, f"replaced: {names}", " ".join(reason.split())))
    covered = {base for cls in our_classes() for base in cls.__mro__}
    for cls in suite_classes():
        reason = reason_not_collected(cls)
        if cls not in covered and reason:
            found.append((suite_name(cls), "not collected", reason))
    return sorted(found)


def text() -> str:
    lines = ["| Class of dbt-tests-adapter | What | Why |", "|---|---|---|"]
    lines += [f"| {name} | {what} | {why} |" for name, what, why in rows()]
    return "\n".join(lines)


def page(current: str) -> str:
    before, _, rest = current.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
