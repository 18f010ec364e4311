"""What asks for reuse, and which tests passed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.clients.agate_helper import table_from_data_flat

from dbt.adapters.alluvium import reuse

COLUMNS = ["failures", "should_warn", "should_error"]


def node(kind: str = "test", **meta: Any) -> Any:
    return SimpleNamespace(name="one", resource_type=kind, config=SimpleNamespace(meta=meta))


@pytest.mark.parametrize("meta", [{}, {"alluvium_reuse": True}, {"alluvium_reuse": False}])
def test_accepted(meta):
    assert list(reuse.mistakes([node(**meta)], {"alluvium_reuse": False})) == []


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (node(alluvium_reuse="yes"), "one: meta.alluvium_reuse is 'yes'; accepted: true, false"),
        (node(alluvium_reuse=None), "one: meta.alluvium_reuse is None; accepted: true, false"),
        (
            node(alluvium_reus=True),
            "one: meta.alluvium_reus is not known on a test; accepted: alluvium_reuse,"
            " alluvium_tier; did you mean alluvium_reuse?",
        ),
        (
            node("model", alluvium_reuse=True),
            "one: meta.alluvium_reuse is not known on a model; accepted: on data tests, as"
            " `data_tests: {+meta: {…}}` in dbt_project.yml",
        ),
    ],
)
def test_mistakes(one, said):
    assert list(reuse.mistakes([one], {})) == [said]


def test_a_var_that_is_not_a_boolean():
    assert list(reuse.mistakes([], {"alluvium_reuse": "no"})) == [
        "var alluvium_reuse is 'no'; accepted: true, false"
    ]


def table(*row: Any, columns: list[str] | None = None) -> Any:
    names = columns or COLUMNS
    return table_from_data_flat([dict(zip(names, row, strict=True))], names)


def test_a_test_that_passed():
    assert reuse._passed(table(3, False, False)) == 3
    assert reuse._passed(table(0, False, False, columns=[one.upper() for one in COLUMNS])) == 0


@pytest.mark.parametrize(
    "found",
    [
        table(1, True, False),
        table(1, False, True),
        table(None, False, False),
        table("0", False, False),
        table(0.5, False, False),
        table(0, None, False),
        table(0, False, False, columns=["n", "should_warn", "should_error"]),
        table_from_data_flat([], COLUMNS),
    ],
)
def test_other_results(found):
    assert reuse._passed(found) is None


def test_names_of_tables():
    assert reuse._parts("`A`.`b`") == reuse._parts("spark_catalog.a.`B`") == ("a", "b")
    assert reuse._parts("`a.b`.`c`") != reuse._parts("`a`.`b.c`")
