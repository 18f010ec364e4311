"""Where a macro lives, what it is called, and whether dbt's docs show it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from support.rendered import MACROS
from unit.macros.test_called_macros import macros as parsed_macros
from unit.macros.test_called_macros import names_called_by

REPO = Path(__file__).parents[3]
HELPERS = ("_internal", "_stock")
BEGINS = re.compile(r"^\{%-? *(macro|test|materialization) +(\w+)(?:, adapter='(\w+)')?", re.M)
OF_DISPATCH = re.compile(r"(default|alluvium|spark|databricks)__(\w+)")


def defined(path: Path) -> list[str]:
    """The macros of a file, as dbt's docs call them."""
    found = BEGINS.findall(path.read_text())
    return ["_".join(filter(None, (kind * (kind != "macro"), *name))) for kind, *name in found]


def files() -> dict[Path, list[str]]:
    found = {path.relative_to(MACROS): defined(path) for path in sorted(MACROS.rglob("*.sql"))}
    assert len(found) > 80
    return found


def is_helper(path: Path) -> bool:
    return path.parts[0] in HELPERS


def documented() -> dict[str, dict[str, Any]]:
    """What yml says of each macro; no macro is in it twice."""
    entries = [
        (macro["name"], macro)
        for path in MACROS.rglob("*.yml")
        for macro in yaml.safe_load(path.read_text())["macros"]
    ]
    assert len(dict(entries)) == len(entries)
    return dict(entries)


def test_a_public_macro_has_a_file_of_its_own() -> None:
    public = {path: names for path, names in files().items() if not is_helper(path)}
    assert {path: [path.stem] for path in public} == {
        path: [name.removeprefix("test_") for name in names] for path, names in public.items()
    }


def test_docs_show_the_public_macros_alone() -> None:
    said = documented()
    for path, names in files().items():
        for name in names:
            hidden = said[name].get("docs", {}).get("show") is False
            assert hidden == is_helper(path), name
            assert hidden != bool(said[name].get("description")), name
    assert set(said) == {name for names in files().values() for name in names}


def test_a_helper_begins_with_an_underscore() -> None:
    """But those that dispatch finds by their name, and materializations."""
    every = [name for path, names in files().items() if is_helper(path) for name in names]
    dispatched = {found[2] for name in every if (found := OF_DISPATCH.fullmatch(name))}
    for name in every:
        is_free = name in dispatched or OF_DISPATCH.fullmatch(name)
        if not (is_free or name.startswith("materialization_")):
            assert name.startswith("_"), name


def test_each_macro_that_is_called_is_there() -> None:
    every = parsed_macros()
    for name, macro in every.items():
        called = {one for one in names_called_by(macro) if not OF_DISPATCH.fullmatch(one)}
        assert called <= every.keys(), name
    of_adapter = (REPO / "src/dbt/include/alluvium/macros").rglob("*.sql")
    named = {
        one for path in of_adapter for one in re.findall(r"alluvium\.(\w+)\(", path.read_text())
    }
    assert named
    assert named <= every.keys()


def test_no_file_is_long() -> None:
    """A file that outgrows this holds two things: part it by what a reader looks for."""
    limits = {".py": 400, ".sql": 150}
    places = [MACROS, REPO / "src"]
    lengths = {
        path.relative_to(REPO): len(path.read_text().splitlines())
        for place in places
        for path in place.rglob("*")
        if path.suffix in limits
    }
    assert len(lengths) > 250
    assert {path: n for path, n in lengths.items() if n > limits[path.suffix]} == {}
