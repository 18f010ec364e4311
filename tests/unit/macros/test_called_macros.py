"""Macros that Python calls: `model` is the macro there, `this` and `config` are not the node's."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from dbt_common.clients.jinja import get_environment
from jinja2 import meta, nodes

ROOT = Path(__file__).parents[3]
CALL = re.compile(r'(?:execute_macro|texts)\(\s*"(\w+)"')
OF_THE_NODE = {"model", "this", "config"}


@cache
def macros() -> dict[str, nodes.Macro]:
    """Every macro of the package under its name."""
    found = {}
    environment = get_environment(None)
    for path in sorted((ROOT / "macros").rglob("*.sql")):
        for macro in environment.parse(path.read_text()).find_all(nodes.Macro):
            found[macro.name.removeprefix("dbt_macro__")] = macro
    return found


def called() -> set[str]:
    """The macros that the adapter's Python names."""
    adapter = (ROOT / "src/dbt/adapters/alluvium").rglob("*.py")
    return {name for path in adapter for name in CALL.findall(path.read_text())}


def names_called_by(macro: nodes.Macro) -> set[str]:
    """Names of the package's macros that one calls, by itself or by dispatch."""
    found = {
        one.attr
        for one in macro.find_all(nodes.Getattr)
        if isinstance(one.node, nodes.Name) and one.node.name == "alluvium"
    }
    for call in macro.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "dispatch":
            name = call.args[0]
            assert isinstance(name, nodes.Const)
            found |= {f"{kind}__{name.value}" for kind in ("alluvium", "default")}
    return found


def reached(every: dict[str, nodes.Macro], start: set[str]) -> set[str]:
    seen: set[str] = set()
    todo = set(start)
    while todo:
        name = todo.pop()
        if name in every and name not in seen:
            seen.add(name)
            todo |= names_called_by(every[name])
    return seen


def globals_of(macro: nodes.Macro) -> set[str]:
    template = nodes.Template([macro], lineno=1)
    template.set_environment(get_environment(None))
    return meta.find_undeclared_variables(template)


def test_none_reads_the_node_that_runs() -> None:
    every = macros()
    assert {"_merge_outline", "_merge_look", "_merge_texts", "tiers", "validate"} <= called()
    assert called() <= set(every)
    found = reached(every, called())
    assert {"_merge_statement", "range_predicate", "_keep_rejected_sql"} <= found
    wrong = {name: globals_of(every[name]) & OF_THE_NODE for name in sorted(found)}
    assert {name: read for name, read in wrong.items() if read} == {}


def test_such_a_macro_is_found() -> None:
    every = macros()
    assert globals_of(every["_run_merge"]) >= {"model"}
    assert "_batch_mistake" in reached(every, {"_run_merge"})


def test_the_texts_of_a_merge_run_nothing() -> None:
    every = macros()
    found = reached(every, {"_merge_outline", "_merge_look", "_merge_texts"})
    runs = {name for name in found if globals_of(every[name]) & {"run_query", "statement"}}
    assert runs <= {"_range_rows"}  # of a relation's rows: a merge gives the rows themselves
